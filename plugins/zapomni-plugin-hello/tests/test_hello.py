import zapomni_plugin_hello

from zapomni_core.testing import text_of


async def test_hello_greets_by_name_with_the_word_that_the_user_chose(run_plugin):
    settings = {"plugins": {"hello": {"greeting": "Privet"}}}
    app = await run_plugin(zapomni_plugin_hello, name="hello", settings=settings)
    assert text_of(await app.call("hello", {"name": "Ada"})) == "Privet, Ada!"
