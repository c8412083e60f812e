import zapomni_plugin_fastembed

from zapomni_core.testing import PluginContract


class TestContract(PluginContract):
    plugin = zapomni_plugin_fastembed
    name = "fastembed"
