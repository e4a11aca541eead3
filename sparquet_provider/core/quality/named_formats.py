r"""The formats that validity rules know by name; each is an SQL predicate over a text.

The whole value must match: patterns stand between ``\A`` and ``\z``, since ``$`` also matches before a last line break.
Groups that repeat without bound are possessive, which keeps Java's matcher from recursing once for each repetition.
The arithmetic of check digits works on codes of characters, which any text has, so nothing can raise under ANSI rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from ..text import literal


@dataclass(frozen=True)
class NamedFormat:
    """A format with a name: what it accepts, in one line, and the standard behind it; ``predicate`` turns a text's SQL into the test of it."""

    name: str
    accepts: str
    source: str
    predicate: Callable[[str], str]
    example: str
    counterexample: str


def predicate(name: str, text_sql: str) -> str:
    """An SQL expression that is true when a text has the format and false when not; for null it is false or null.

    ``text_sql`` is an SQL expression of type string, of any collation. The case of ``name`` does not matter.

    Raises:
        KeyError: when no format has that name (see ``NAMES``).
    """
    # The cast drops a collation: under one, comparisons would take no notice of case, and patterns might be refused.
    return f"({_BY_NAME[name.casefold()].predicate(f'CAST({text_sql} AS STRING)')})"


# --- patterns ----------------------------------------------------------------------------------------------------
def _like(pattern: str, text: str) -> str:
    whole = rf"\A(?:{pattern})\z"
    return f"{text} RLIKE {literal(whole)}"


def _pattern(pattern: str) -> Callable[[str], str]:
    return partial(_like, pattern)


def _one_of(codes: str) -> Callable[[str], str]:
    listed = literal(codes.split())
    return lambda text: f"{text} IN ({listed})"


_HEX = "[0-9A-Fa-f]"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_EMAIL = (
    r"(?=.{1,254}\z)(?=[^@]{1,64}@)"
    rf"{_ATOM}(?:\.{_ATOM})*+@(?:{_LABEL}\.)++(?:[A-Za-z]{{2,63}}|[Xx][Nn]--[A-Za-z0-9-]{{0,58}}[A-Za-z0-9])"
)

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"(?:{_BYTE}\.){{3}}{_BYTE}"


def _ipv6() -> str:
    group = f"{_HEX}{{1,4}}"
    last_two = f"(?:{group}:{group}|{_IPV4})"
    # The nine alternatives of RFC 3986's IPv6address: nothing left out, then "::" with ever more groups before it and fewer after it.
    endings = [*(f"(?:{group}:){{{n}}}{last_two}" for n in range(5, -1, -1)), group, ""]
    before = ["", *(f"(?:{group}(?::{group}){{0,{n}}})?" for n in range(7))]
    return "|".join([f"(?:{group}:){{6}}{last_two}", *(f"{b}::{e}" for b, e in zip(before, endings, strict=True))])


_IPV6 = _ipv6()


def _url_part(more: str = "") -> str:
    """Characters of RFC 3986 that stand for themselves, with those in ``more``, and percent-encoded ones."""
    plain = rf"[A-Za-z0-9._~!$&'()*+,;=:@/{more}-]*+"
    return f"{plain}(?:%{_HEX}{{2}}{plain})*+"


_USER = f"[A-Za-z0-9._~!$&'()*+,;=:-]*+(?:%{_HEX}{{2}}[A-Za-z0-9._~!$&'()*+,;=:-]*+)*+@"
# A last label of digits alone is an address that is none, such as 999.999.999.999.
_HOST = rf"(?:{_IPV4}|\[(?:{_IPV6})\]|(?=[A-Za-z0-9.-]{{1,253}}(?:[:/?#]|\z))(?:{_LABEL}\.)*+(?![0-9]++(?:[:/?#]|\z)){_LABEL})"
_PORT = "(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})"
_URL = rf"(?i:https?|ftp)://(?:{_USER})?{_HOST}(?::{_PORT})?(?:/{_url_part()})?(?:\?{_url_part('?')})?(?:#{_url_part('?')})?"

_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_ZONE = "(?:Z|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9])?|18(?::?00)?))"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"

_PHONE_GROUP = r"(?:\([0-9]{1,5}\)|[0-9]++)"
_PHONE = (
    r"(?=(?:[^0-9]*+[0-9]){7,15}[^0-9]*+\z)(?![^(]*+\([^(]*+\()"
    rf"(?:\+(?=[1-9]))?{_PHONE_GROUP}(?:[ .-]?+{_PHONE_GROUP})*+"
)

_DECIMAL = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)"
_BASE64 = r"(?!\z)(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"


# --- dates and JSON ----------------------------------------------------------------------------------------------
def _dated(pattern: str) -> Callable[[str], str]:
    """A pattern that begins with an ISO date, which must exist in the calendar."""
    return lambda text: f"{_like(pattern, text)} AND try_cast(substr({text}, 1, 10) AS DATE) IS NOT NULL"


def _json(text: str) -> str:
    # The parser stops after the first value and takes no notice of the rest, so the text stands in an array before a
    # mark that no other value has: only when the text is one value is the mark the array's second element.
    mark = f"xxhash64({text})"
    found = f"try_variant_get(try_parse_json(concat('[', {text}, ',', {mark}, ']')), '$[1]', 'bigint')"
    space_around = literal(r"\A\s|\s\z")
    return f"NOT {text} RLIKE {space_around} AND {found} <=> {mark}"


# --- check digits ------------------------------------------------------------------------------------------------
def _modulo_11(codes: Sequence[str], weights: Iterable[int]) -> str:
    """True when the last character is the check digit of those before it, as the Receita Federal computes it."""
    *before, last = codes
    factors = list(weights)
    total = " + ".join(f"{code} * {w}" for code, w in zip(before, factors, strict=True))
    return f"{last} - 48 = (11 - ({total} - {48 * sum(factors)}) % 11) % 11 % 10"


def _registered(bare: str, punctuated: str, first: Sequence[int], second: Sequence[int], text: str) -> str:
    """A number with two check digits, written in one of two ways, in which ``#`` is a digit and ``@`` a digit or letter."""
    patterns = (way.replace(".", r"\.").replace("#", "[0-9]").replace("@", "[0-9A-Z]") for way in (bare, punctuated))
    no_repetition = r"(?!([0-9])(?:[./-]?\1)*+\z)"
    codes = []
    for i, place in enumerate((i for i, c in enumerate(punctuated, 1) if c in "#@"), 1):
        position = i if i == place else f"if(length({text}) = {len(bare)}, {i}, {place})"
        codes.append(f"ascii(substr({text}, {position}, 1))")
    shape = _like(f"{no_repetition}(?:{'|'.join(patterns)})", text)
    return f"{shape} AND {_modulo_11(codes[:-1], first)} AND {_modulo_11(codes, second)}"


_CPF = partial(_registered, "#" * 11, "###.###.###-##", range(10, 1, -1), range(11, 1, -1))
_CNPJ_WEIGHTS = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
_CNPJ = partial(_registered, "@" * 12 + "##", "@@.@@@.@@@/@@@@-##", _CNPJ_WEIGHTS[1:], _CNPJ_WEIGHTS)

_CARD = r"(?=(?:[ -]?[0-9]){12,19}\z)(?![0 -]*+\z)[0-9]++(?:([ -])[0-9]++(?:\1[0-9]++)*+)?"


def _card(text: str) -> str:
    return f"{_like(_CARD, text)} AND luhn_check(translate({text}, ' -', ''))"


#: What follows country and check digits: n digits, a letters, c either, each with its count (IBAN registry, release 103).
_IBAN_PARTS = """
AD:8n12c AE:19n AL:8n16c AT:16n AZ:4a20c BA:16n BE:12n BG:4a6n8c BH:4a14c BI:23n BR:8c15n2c BY:4c4n16c CH:5n12c CR:18n CY:8n16c
CZ:20n DE:18n DJ:23n DK:14n DO:4c20n EE:16n EG:25n ES:20n FI:14n FK:2a12n FO:14n FR:10n11c2n GB:4a14n GE:2a16n GI:4a15c GL:14n
GR:7n16c GT:24c HN:4a20n HR:17n HU:24n IE:4a14n IL:19n IQ:4a15n IS:22n IT:1a10n12c JO:4a4n18c KW:4a22c KZ:3n13c LB:4n20c LC:4a24c
LI:5n12c LT:16n LU:3n13c LV:4a13c LY:21n MC:10n11c2n MD:20c ME:18n MK:3n10c2n MN:16n MR:23n MT:4a5n18c MU:4a19n3a NI:4a20n NL:4a10n
NO:11n OM:3n16c PK:4a16c PL:24n PS:4a21c PT:21n QA:4a21c RO:4a16c RS:18n RU:14n15c SA:2n18c SC:4a20n3a SD:14n SE:20n SI:15n SK:20n
SM:1a10n12c SO:19n ST:21n SV:4a20n TL:19n TN:20n TR:6n16c UA:6n19c VA:18n VG:4a16n XK:16n YE:4a4n18c
"""
_IBAN_CLASSES = {"n": "[0-9]", "a": "[A-Z]", "c": "[0-9A-Z]"}


def _iban_pattern() -> str:
    rest_of: dict[str, list[str]] = {}
    for entry in _IBAN_PARTS.split():
        country, parts = entry.split(":")
        pattern, count = "", ""
        for c in parts:
            if c.isdigit():
                count += c
            else:
                pattern, count = f"{pattern}{_IBAN_CLASSES[c]}{{{count}}}", ""
        rest_of.setdefault(pattern, []).append(country)
    check = "(?:0[2-9]|[1-8][0-9]|9[0-8])"
    return "|".join(f"(?:{'|'.join(countries)}){check}{rest}" for rest, countries in rest_of.items())


_IBAN = _iban_pattern()
_IBAN_BLANKS = "[^ ]++|[^ ]{4}(?: [^ ]{4})*+(?: [^ ]{1,3})?"


def _iban(text: str) -> str:
    compact = f"replace({text}, ' ', '')"
    digits = f"concat(substr({compact}, 5), substr({compact}, 1, 4))"
    # A becomes 10 and Z 35: first the tens before each letter, then the letters themselves.
    for tens, letters in ((1, "A-J"), (2, "K-T"), (3, "U-Z")):
        digits = f"regexp_replace({digits}, '(?=[{letters}])', '{tens}')"
    digits = f"translate({digits}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '01234567890123456789012345')"
    # At most 68 digits: two decimals of 38 hold them.
    padded = f"lpad({digits}, 76, '0')"
    high, low = (f"try_cast(substr({padded}, {start}, 38) AS DECIMAL(38, 0)) % 97" for start in (1, 39))
    # What is no IBAN may be no number either.
    right = f"coalesce(({high} * {10**38 % 97} + {low}) % 97 = 1, false)"
    return f"{_like(_IBAN_BLANKS, text)} AND {_like(_IBAN, compact)} AND {right}"


# --- lists of codes ----------------------------------------------------------------------------------------------
_COUNTRIES = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI
CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ
GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS
LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG
PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK
TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
_CURRENCIES = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP
COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK
JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN
NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP
SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG
XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG
"""


# --- the table ---------------------------------------------------------------------------------------------------
FORMATS: tuple[NamedFormat, ...] = (
    NamedFormat(
        "email",
        "name@domain in ASCII: dots between the parts of the name (64 characters at most), two labels or more in the domain, 254 characters in all",
        "RFC 5321 and 5322 without quoted names, comments and address literals",
        _pattern(_EMAIL),
        "ana.silva+nf@exemplo.com.br",
        "ana..silva@exemplo.com",
    ),
    NamedFormat(
        "uuid",
        "32 hexadecimal digits of any case as 8-4-4-4-12; any version, nil and max too; no braces",
        "RFC 9562, formerly RFC 4122",
        _pattern(f"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"),
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "f81d4fae7dec11d0a76500a0c91e6bf6",
    ),
    NamedFormat(
        "cpf",
        "11 digits, bare or as ###.###.###-##, with right check digits; not one digit repeated",
        "Receita Federal, modulo 11",
        _CPF,
        "529.982.247-25",
        "111.111.111-11",
    ),
    NamedFormat(
        "cnpj",
        "14 characters, bare or as ##.###.###/####-##, with right check digits; the first 12 may be digits or capital letters; not one digit repeated",
        "Receita Federal, modulo 11; letters as in IN RFB 2.229/2024 (from 2026)",
        _CNPJ,
        "12.ABC.345/01DE-35",
        "12.abc.345/01de-35",
    ),
    NamedFormat("date", "yyyy-MM-dd, a day that exists", "ISO 8601, Gregorian calendar", _dated(_DATE), "2024-02-29", "2023-02-29"),
    NamedFormat(
        "timestamp",
        "a date, then T or one blank, a time, and perhaps a zone: Z, +hh:mm, +hhmm or +hh, up to 18 hours either way",
        "ISO 8601 and RFC 3339, capital T and Z, no leap seconds",
        _dated(f"{_DATE}[T ]{_TIME}{_ZONE}?"),
        "2024-02-29T23:59:59.123Z",
        "2024-02-29T24:00:00Z",
    ),
    NamedFormat(
        "time",
        "hh:mm or hh:mm:ss of a day of 24 hours, with up to 9 decimals of a second; no zone",
        "ISO 8601, no leap seconds",
        _pattern(_TIME),
        "23:59:59.5",
        "24:00",
    ),
    NamedFormat(
        "phone",
        "7 to 15 digits, perhaps a + before the country code; between groups one blank, hyphen or dot; one group may stand in parentheses",
        "ITU-T E.164 for the number of digits; groups as people write them",
        _pattern(_PHONE),
        "+55 (11) 98765-4321",
        "98765-4321 r. 12",
    ),
    NamedFormat("integer", "digits, perhaps a sign; any length", "XML Schema integer", _pattern("[+-]?[0-9]++"), "-42", "42.0"),
    NamedFormat("decimal", "digits with or without a decimal point, perhaps a sign; no exponent", "XML Schema decimal", _pattern(_DECIMAL), "-1.50", "1,50"),
    NamedFormat(
        "number",
        "a decimal, perhaps with an exponent; neither NaN nor infinity",
        "XML Schema double without its special values",
        _pattern(f"{_DECIMAL}(?:[Ee][+-]?[0-9]++)?"),
        "6.02e23",
        "NaN",
    ),
    NamedFormat(
        "url",
        "http, https or ftp with a host (name, IPv4, IPv6 in brackets), perhaps user, port, path, query, fragment; ASCII, the rest percent-encoded",
        "RFC 3986; host names of RFC 1123",
        _pattern(_URL),
        "https://exemplo.com.br/a%20b?id=1",
        "exemplo.com.br/a b",
    ),
    NamedFormat("ip", "an ipv4 or an ipv6", "as below", _pattern(f"{_IPV4}|{_IPV6}"), "2001:db8::1", "999.999.999.999"),
    NamedFormat("ipv4", "four numbers from 0 to 255, with dots, no leading zeros", "RFC 3986, IPv4address", _pattern(_IPV4), "192.168.0.1", "192.168.0.01"),
    NamedFormat(
        "ipv6",
        "eight groups of 1 to 4 hexadecimal digits; one :: may stand for one group or more, an ipv4 for the last two; no zone, no prefix length",
        "RFC 4291 as in RFC 3986, IPv6address",
        _pattern(_IPV6),
        "::ffff:192.0.2.1",
        "1::2::3",
    ),
    NamedFormat(
        "boolean",
        "true, false, t, f, yes, no, y, n, 1, 0 in any case",
        "what Spark casts to boolean",
        _pattern("(?i:true|false|t|f|yes|no|y|n|1|0)"),
        "Yes",
        "on",
    ),
    NamedFormat("alphanumeric", "letters A to Z of any case and digits 0 to 9", "ASCII", _pattern("[A-Za-z0-9]++"), "Abc123", "ação"),
    NamedFormat(
        "credit_card",
        "12 to 19 digits with a right check digit, not only zeros; blanks or hyphens, all the same, may part groups",
        "ISO/IEC 7812 (Luhn); issuers are not looked up",
        _card,
        "4111 1111 1111 1111",
        "4111 1111 1111 1112",
    ),
    NamedFormat(
        "iban",
        "a registered country's number of characters and kinds of them, with right check digits; capitals, bare or in groups of four with blanks",
        "ISO 13616, SWIFT registry release 103 (September 2026); ISO 7064 modulo 97",
        _iban,
        "GB82 WEST 1234 5698 7654 32",
        "GB82 WEST 1234 5698 7654 33",
    ),
    NamedFormat("country_code", "the 249 codes of two capital letters in force", "ISO 3166-1 alpha-2, February 2026", _one_of(_COUNTRIES), "BR", "UK"),
    NamedFormat(
        "currency",
        "the 178 codes of three capital letters in force, with funds, metals, XTS and XXX",
        "ISO 4217 list one, amendment 180 (January 2026)",
        _one_of(_CURRENCIES),
        "BRL",
        "R$",
    ),
    NamedFormat("hex", "hexadecimal digits of any case, any number of them; no 0x", "RFC 4648 section 8, its alphabet", _pattern(f"{_HEX}++"), "ffA1", "0xff"),
    NamedFormat(
        "json",
        "one JSON value of any kind without white space around it; an object's keys differ",
        "RFC 8259, as Spark's variant parser reads it",
        _json,
        '{"a": [1, null]}',
        "{'a': 1}",
    ),
    NamedFormat(
        "base64",
        "groups of four letters, digits, + and /, the last padded with =, its unused bits zero; no line breaks",
        "RFC 4648 section 4",
        _pattern(_BASE64),
        "U3BhcmsgNA==",
        "U3BhcmsgNA",
    ),
    NamedFormat(
        "slug",
        "words of small letters a to z and digits, with single hyphens between them",
        "the usual form of a name in a URL",
        _pattern("[a-z0-9]++(?:-[a-z0-9]++)*+"),
        "nota-fiscal-2026",
        "Nota_Fiscal",
    ),
)
_BY_NAME = {f.name: f for f in FORMATS}
#: The names of all formats.
NAMES: tuple[str, ...] = tuple(_BY_NAME)
