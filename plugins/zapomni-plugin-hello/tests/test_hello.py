import zapomni_plugin_hello

from zapomni_core.testing import running, text_of


async def test_hello_greets_by_name_with_the_word_that_the_user_chose():
    settings = {"plugins": {"hello": {"greeting": "Privet"}}}
    async with running(zapomni_plugin_hello, name="hello", settings=settings) as app:
        assert text_of(await app.call("hello", {"name": "Ada"})) == "Privet, Ada!"
