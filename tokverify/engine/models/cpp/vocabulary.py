"""Define the fixed part of the C++ hybrid vocabulary: 1,600 tokens whose ids do not depend on training.

The ids and lists follow the design document of that tokenizer; where it contradicts itself, docs/cpp-hybrid.md explains
the choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def _split(pieces: str) -> tuple[str, ...]:
    return tuple(pieces.split())


SPECIAL = (
    "<PAD>", "<UNK>", "<BOS>", "<EOS>", "<FIM_PREFIX>", "<FIM_MIDDLE>", "<FIM_SUFFIX>", "<CODE_START>", "<CODE_END>",
    "<THOUGHT_START>", "<THOUGHT_END>", "<QUERY_TOOL>", "<INDEX>", "<DEBUG_CONTEXT>", "<FILE_SEP>", "<DIFF_START>",
    "<DIFF_END>", "<COMMENT_START>", "<COMMENT_END>", "<RESERVED_19>",
)  # fmt: skip

UNKNOWN = "<UNK>"

ROLES: Mapping[str, str] = {
    "bos": "<BOS>", "eos": "<EOS>", "unk": UNKNOWN, "pad": "<PAD>",
    "fim_pre": "<FIM_PREFIX>", "fim_suf": "<FIM_SUFFIX>", "fim_mid": "<FIM_MIDDLE>",
}  # fmt: skip
"""The GGUF roles of special tokens."""

KEYWORDS = _split(
    """
    auto const constexpr consteval constinit extern inline mutable register static thread_local volatile virtual
    explicit
    void bool char short int long float double signed unsigned wchar_t char8_t char16_t char32_t size_t
    struct class union enum typedef typename template concept requires namespace using
    if else switch case default for while do break continue return goto
    try catch throw noexcept
    new delete nullptr sizeof alignof alignas
    static_cast dynamic_cast const_cast reinterpret_cast
    public private protected friend
    true false this operator decltype typeid co_await co_return co_yield
    NULL restrict
    assert define include ifdef ifndef endif pragma elif undef
    """
)

OPERATORS = _split(
    """
    :: -> .* ->*
    == != <= >= <=>
    && ||
    << >>
    ++ --
    += -= *= /= %= &= |= ^= <<= >>=
    ...
    ##
    // /* */
    """
)

DIRECTIVE_NAMES = ("include", "define", "ifdef", "ifndef", "endif", "pragma", "if", "else", "elif", "undef", "error",
                   "warning")  # fmt: skip
DIRECTIVES = tuple("#" + name for name in DIRECTIVE_NAMES)

PUNCTUATION = tuple("{}()[]<>;:,.+-*/%&|^~!?=#@$_\\\"'`")

NAMES = _split(
    """
    std boost absl fmt
    cout cerr cin endl printf fprintf sprintf scanf puts getchar putchar
    vector map set list deque array unordered_map unordered_set stack queue priority_queue pair tuple string
    string_view wstring
    unique_ptr shared_ptr weak_ptr make_unique make_shared
    allocator malloc calloc realloc free memcpy memset memmove
    sort find count transform accumulate begin end size empty push_back emplace_back insert erase clear reserve
    resize front back data
    iterator const_iterator reverse_iterator
    optional variant any expected function bind move forward swap numeric_limits type_traits enable_if is_same decay
    initializer_list
    ifstream ofstream stringstream ostringstream iostream fstream sstream
    mutex lock_guard unique_lock shared_lock thread atomic condition_variable future promise async
    exception runtime_error logic_error invalid_argument out_of_range overflow_error error_code error_category
    strlen strcmp strncmp strcpy strcat atoi atof strtol strtod exit abort atexit
    open close read write ioctl socket listen accept connect send recv select poll epoll fork exec wait pipe signal
    pthread_create pthread_join pthread_mutex
    cudaMalloc cudaFree cudaMemcpy cudaDeviceSynchronize cudaGetLastError __global__ __device__ __host__ __shared__
    blockIdx threadIdx blockDim gridDim
    """
)

NUMBERS = tuple(map(str, range(1000)))

MARKERS: Mapping[str, str] = {"<DIFF_ADD>": "+", "<DIFF_DEL>": "-"}
"""The pieces for `+` and `-` at the beginning of a diff line, and the signs they represent."""

PATH_PREFIXES = ("a/", "b/")
DIFF = (*MARKERS, "@@", "diff", "---", "+++", "index", *PATH_PREFIXES)

CONTINUATION = "##"
"""What a piece that continues a word begins with."""

NEWLINES = ("\n", "\n\n")

RANGES: Mapping[str, tuple[range, Sequence[str]]] = {
    "special tokens": (range(20), SPECIAL),
    "keywords": (range(20, 120), KEYWORDS),
    "operators": (range(120, 180), OPERATORS),
    "preprocessor directives": (range(180, 220), DIRECTIVES),
    "punctuation": (range(220, 320), PUNCTUATION),
    "library names": (range(320, 520), NAMES),
    "numbers": (range(520, 1520), NUMBERS),
    "diff markers": (range(1520, 1536), DIFF),
    "newlines": (range(1536, 1552), NEWLINES),
    "reserved": (range(1552, 1600), ()),
}
"""The ranges of ids, and the pieces at the beginning of each; the other ids in a range are reserved."""


def reserved_piece(id: int) -> str:
    """Return the piece of a reserved id."""
    return f"<RESERVED_{id}>"


def _fixed_pieces() -> Iterator[str]:
    for ids, pieces in RANGES.values():
        yield from pieces
        yield from map(reserved_piece, ids[len(pieces) :])


FIXED: Sequence[str] = tuple(_fixed_pieces())
"""The pieces of the ids from 0 on."""

SYMBOLS = frozenset([*OPERATORS, *PUNCTUATION, *MARKERS.values(), "@@", "---", "+++"])
"""Tokens that consist only of signs, including `_`."""


def token_category(id: int, piece: str) -> str:
    """Return the category of a token: the name of its range, `reserved`, `bytes` or `learned`."""
    if piece == reserved_piece(id) and piece not in SPECIAL:
        return "reserved"
    if id < len(FIXED):
        names = (name for name, (ids, _) in RANGES.items() if id in ids)
        return next(names) if piece == FIXED[id] else "learned"
    return "bytes" if len(piece.removeprefix(CONTINUATION)) == 1 else "learned"
