"""The names that say what a text is: code, Markdown, or plain text. Any other name says nothing."""

_MARKDOWN = frozenset({"markdown", "md", "mdx"})
_TEXT = frozenset({"plain", "plaintext", "text", "txt"})
_CODE = frozenset(
    [
        *("bash", "batch", "c", "c#", "c++", "clojure", "cpp", "cs", "csharp", "css", "dart", "dockerfile", "elixir"),
        *("erlang", "f#", "fsharp", "go", "golang", "groovy", "h", "haskell", "hpp", "hs", "html", "ini", "java"),
        *("javascript", "js", "json", "jsonl", "jsx", "julia", "kotlin", "kt", "less", "lisp", "lua", "makefile"),
        *("matlab", "nim", "objective-c", "objc", "ocaml", "pascal", "perl", "php", "powershell", "proto", "protobuf"),
        *("py", "python", "r", "rb", "rs", "ruby", "rust", "scala", "scss", "sh", "shell", "solidity", "sql", "svelte"),
        *("swift", "terraform", "toml", "ts", "tsx", "typescript", "vb", "vue", "xml", "yaml", "yml", "zig", "zsh"),
    ]
)


def is_markdown(language: str | None) -> bool:
    """Whether a text in this language is Markdown."""
    return _name(language) in _MARKDOWN


def is_text(language: str | None) -> bool:
    """Whether a text in this language is neither code nor Markdown, whatever it looks like."""
    return _name(language) in _TEXT


def is_code(language: str | None) -> bool:
    """Whether a text in this language is code."""
    return _name(language) in _CODE


def _name(language: str | None) -> str:
    return (language or "").strip().casefold()
