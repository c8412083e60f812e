"""Names in Chinese, Japanese and Korean: persons by what is said to them or of them, places and companies that are known, and where who lives and works."""

# ruff: noqa: SIM905 (words read better as prose than as a list)

import re
from collections.abc import Iterator
from functools import cache

from zapomni_core.extraction.mention import Mention

_PLACES = """
    北京 上海 广州 深圳 杭州 南京 成都 重庆 武汉 西安 苏州 天津 青岛 厦门 大连 长沙 郑州 香港 澳门 台北 台湾 中国 美国 英国 法国 德国 日本 韩国 印度 俄罗斯 新加坡
    東京 东京 大阪 京都 名古屋 横浜 札幌 福岡 神戸 仙台 広島 沖縄 北海道 アメリカ イギリス フランス ドイツ イタリア スペイン ロシア ロンドン パリ ベルリン ニューヨーク
    서울 부산 대구 인천 광주 대전 울산 제주도 한국 미국 일본 중국
"""
_COMPANIES = """
    阿里巴巴 腾讯 华为 百度 字节跳动 小米 京东 美团 微信 淘宝 抖音 トヨタ ソニー ホンダ 日産 任天堂 楽天 パナソニック 富士通 グーグル アマゾン マイクロソフト アップル
    삼성전자 네이버 카카오
"""
_CHINESE = "王李张張刘劉陈陳杨楊赵趙吴吳徐孙孫胡朱林郭罗羅梁宋郑鄭谢謝韩韓唐冯馮董萧蕭曹袁邓鄧傅沈彭吕呂苏蘇卢盧蒋蔣蔡贾賈魏薛叶葉阎潘杜戴钟鍾汪姜范姚谭譚廖邹熊陆陸郝崔邱秦顾顧侯邵孟钱錢汤尹黎贺龚"
_OTHER_CHINESE = "黄黃周高何马馬丁余夏田任方石金康毛江史龙万段雷易常武乔赖文白孔许許曾程于"
_TWO = "(?:欧阳|司马|上官|诸葛|慕容|司徒|夏侯)"
_KOREAN = "김이박최정강조윤장임한오서신권황안송전홍유고문양손배백허남심노하곽성차주우구민진엄채원천방공현함염변추도소석선설마길연위표명기반왕"
_TITLES = "先生|女士|小姐|老师|老師|教授|医生|醫生|经理|主任|博士|同学"
_DOING = "说|住在|喜欢|负责|认为|告诉|加入|离开|来自|觉得|建议|提出|写了|在[一-鿿]{2,10}(?:工作|上班|上学)"
_ADVERB = "(?:不|没有?|也|都|还|已经?|曾经?|以前|现在)"
_NOT_NAMES = frozenset(
    "王国 王子 王者 王后 胡同 胡说 林业 孙子 孙女 李子 陈旧 唐代 唐朝 宋代 宋朝 郑重 谢谢 叶子 钱包 汤圆 贺卡 杨树 钟头 范围 顾客 侯爵"
    " 今日 昨日 明日 毎日 患者 業者 店員 医者 担当者 社長 部長 課長 皆 母 父 兄 姉 客 神 仏 奥 王 本日 学校 今朝 昨夜 先日 来週 今週".split()
)
_TOPIC = "(?:さん|氏|様)?は"
_SUBJECT = " ?(?:씨|님)?[는은이가]"
# Verbs as they say what is so now: neither that it is not (住んでいません, 살지 않는다), nor that it was (働いていました, 工作过),
# nor what somebody thinks or has heard (働いているらしい, 일한다고 한다).
_SURELY = "(?!らしい|かも|と思|と聞|と言|とい|って|そう|よう|みたい|はず|でしょう|だろう)"
_IS = f"(?:い?(?:る|ます|て){_SURELY}|おり)"
_DOES = "(?:(?:한다|합니다)(?!고|면|더라|던)|하는(?! 것 같)|하며|해|하고 있(?!지)| ?중)"
_STATED = (
    ("works_at", re.compile("(?:现在)?在"), re.compile("(?:公司)?(?:工作|上班)(?![过過了到至])")),
    ("lives_in", re.compile("(?:现在)?(?:住在|搬到|搬到了)"), re.compile("")),
    ("works_at", re.compile(_TOPIC), re.compile(rf"で働(?:く|き|いて{_IS})|に勤め(?:る|て{_IS})")),
    ("lives_in", re.compile(_TOPIC), re.compile(rf"に住(?:む|み|んで{_IS})")),
    (
        "works_at",
        re.compile(_SUBJECT),
        re.compile(rf"에서 (?:일|근무){_DOES}|에 다(?:닌다|닙니다|니는|니고 있(?!지)|녀)"),
    ),
    (
        "lives_in",
        re.compile(_SUBJECT),
        re.compile(rf"에(?:서)? (?:산다|삽니다|사는|살며|살아|살고 있(?!지)|거주{_DOES})"),
    ),
)


def stated(words: str, after: str) -> str | None:
    """What the words between two names, and those after the second, say of the first: where they work or live."""
    if words[:1] < "\u3040":
        return None
    return next((kind for kind, one, end in _STATED if one.fullmatch(words) and end.match(after)), None)


def is_place(name: str) -> bool:
    """Whether a name is that of a place that is known."""
    return name in _places()


@cache
def _places() -> frozenset[str]:
    return frozenset(_PLACES.split())


def read_person(found: re.Match[str]) -> Iterator[Mention]:
    """A person; a surname that stands alone keeps its title: 王老师."""
    group = "titled" if found["titled"] else found.lastgroup or ""
    end = found.end("title") if len(found[group]) == 1 else found.end(group)
    name = found.string[found.start(group) : end]
    if found[group] not in _NOT_NAMES or len(found[group]) == 1:
        yield Mention(found.start(group), end, name, "person")


def read_known(found: re.Match[str]) -> Iterator[Mention]:
    """A place or a company."""
    yield Mention(found.start(), found.end(), found[0], "name")


@cache
def persons() -> re.Pattern[str]:
    """Persons: by a title after the name, by さん, by 씨, or by what a Chinese name at the start of a clause does."""
    han, given = "一-鿿々", "(?:(?![和与跟对向给是的了在把被让请找问说不没也都还])[一-鿿])"
    return re.compile(
        rf"""
        (?P<titled> [{_CHINESE}{_OTHER_CHINESE}] {given}{{0,2}}? ) (?= (?P<title> {_TITLES} ) (?! [ぁ-ん] ) )
        | (?: (?<! [{han}] ) | (?<= [和与跟给让请找问对] ) ) (?P<chinese> (?: [{_CHINESE}] | {_TWO} ) {given}{{1,2}}? ) (?= {_ADVERB}? (?: {_DOING} ) )
        | (?<! [{han}おご] ) (?P<japanese> [{han}]{{2,4}} ) (?= さん | 様 | 氏 | くん | ちゃん | 先生 )
        | (?<! [ァ-ヶー] ) (?P<kana> [ァ-ヶー]{{2,10}} ) (?= さん | 様 | 氏 | くん | ちゃん )
        | (?<! [가-힣] ) (?P<korean> [{_KOREAN}][가-힣]{{1,2}} ) (?= [ ]? 씨 (?! [가-힣]{{2}} ) | [ ] 님 )
        """,
        re.VERBOSE,
    )


@cache
def known() -> re.Pattern[str]:
    """Places and companies that are known."""
    return re.compile("|".join(sorted([*_places(), *_COMPANIES.split()], key=len, reverse=True)))
