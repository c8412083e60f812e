import subprocess
import sys

IMPORT_EVERYTHING = """
import importlib, os, pkgutil, sys

sys.argv[0] = "-m"
before = sys.path[:], dict(os.environ)
import zapomni_mcp
for module in pkgutil.walk_packages(zapomni_mcp.__path__, "zapomni_mcp."):
    importlib.import_module(module.name)
assert "zapomni_mcp.server" in sys.modules
assert (sys.path, dict(os.environ)) == before
"""


def test_importing_the_server_and_the_commands_changes_neither_the_path_nor_the_environment():
    subprocess.run([sys.executable, "-c", IMPORT_EVERYTHING], check=True, timeout=90)
