"""The scripts of Unicode 15, the most frequent ones first."""

from __future__ import annotations

SCRIPTS = tuple(
    """
    Common Latin Han Inherited Greek Cyrillic Hiragana Katakana Hangul Arabic Hebrew Devanagari
    Thai Bopomofo Coptic Armenian Syriac Thaana Nko Samaritan Mandaic Bengali Gurmukhi Gujarati
    Oriya Tamil Telugu Kannada Malayalam Sinhala Lao Tibetan Myanmar Georgian Ethiopic Cherokee
    Canadianaboriginal Ogham Runic Tagalog Hanunoo Buhid Tagbanwa Khmer Mongolian Limbu Taile
    Newtailue Buginese Taitham Balinese Sundanese Batak Lepcha Olchiki Braille Glagolitic Tifinagh
    Yi Lisu Vai Bamum Sylotinagri Phagspa Saurashtra Kayahli Rejang Javanese Cham Taiviet
    Meeteimayek Linearb Lycian Carian Olditalic Gothic Oldpermic Ugaritic Oldpersian Deseret
    Shavian Osmanya Osage Elbasan Caucasianalbanian Vithkuqi Lineara Cypriot Imperialaramaic
    Palmyrene Nabataean Hatran Phoenician Lydian Meroitichieroglyphs Meroiticcursive Kharoshthi
    Oldsoutharabian Oldnortharabian Manichaean Avestan Inscriptionalparthian Inscriptionalpahlavi
    Psalterpahlavi Oldturkic Oldhungarian Hanifirohingya Yezidi Oldsogdian Sogdian Olduyghur
    Chorasmian Elymaic Brahmi Kaithi Sorasompeng Chakma Mahajani Sharada Khojki Multani Khudawadi
    Grantha Newa Tirhuta Siddham Modi Takri Ahom Dogra Warangciti Divesakuru Nandinagari
    Zanabazarsquare Soyombo Paucinhau Bhaiksuki Marchen Masaramgondi Gunjalagondi Makasar Kawi
    Cuneiform Cyprominoan Egyptianhieroglyphs Anatolianhieroglyphs Mro Tangsa Bassavah Pahawhhmong
    Medefaidrin Miao Tangut Nushu Khitansmallscript Duployan Signwriting Nyiakengpuachuehmong Toto
    Wancho Nagmundari Mendekikakui Adlam
    """.split()
)
