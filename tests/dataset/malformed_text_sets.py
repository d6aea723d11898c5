"""Files that are no good part of a set: what they hold, how they are read, what errors say."""

from __future__ import annotations

import mycelia.dataset as ds

SQUAD = '{"data": [{"paragraphs": [{"context": "c", "qas": [%s]}]}]}'
MALFORMED = [
    (
        "agnews/train.csv",
        '1,a,b\n\n2,"c\nd",e\n3,f\n',
        lambda f: ds.AGNewsDataset(f"{f}/agnews", "train", shuffle=False),
        r"(?s)agnews/train.csv:5\).*a different number of fields",
    ),
    (
        "agnews/train.csv",
        '1,a "b",c\n',
        lambda f: ds.AGNewsDataset(f"{f}/agnews", "train", shuffle=False),
        r"(?s)agnews/train.csv:1\).*unexpected double quote",
    ),
    (
        "agnews/train.csv",
        '1,a,b\n2,"a" b,c\n',
        lambda f: ds.AGNewsDataset(f"{f}/agnews", "train", shuffle=False),
        r"(?s)agnews/train.csv:2\).*unexpected double quote",
    ),
    (
        "agnews/train.csv",
        '1,a,b\n2,"a,c\n3,d,e\n',
        lambda f: ds.AGNewsDataset(f"{f}/agnews", "train", shuffle=False),
        r"(?s)agnews/train.csv:2\).*unexpected double quote",
    ),
    (
        "sst2/train.tsv",
        "text\tlabel\na\t1\n",
        lambda f: ds.SST2Dataset(f"{f}/sst2", "train"),
        r"the first line of .*sst2/train.tsv must name the columns",
    ),
    (
        "udpos/en-ud-tag.v2.train.txt",
        "a\tb\tc\n\nd\te\n",
        lambda f: ds.UDPOSDataset(f"{f}/udpos", "train", shuffle=False),
        r"(?s)train.txt:3\).*fewer fields",
    ),
    (
        "clue/wsc/train.json",
        '\n{"text": "a"\n',
        lambda f: ds.CLUEDataset(f"{f}/clue/wsc/train.json", "WSC"),
        r"(?s)wsc/train.json:2\).*invalid JSON",
    ),
    (
        "clue/wsc/train.json",
        '{"idx": 3, "label": "1", "text": "a"}\n',
        lambda f: ds.CLUEDataset(f"{f}/clue/wsc/train.json", "WSC"),
        r"(?s)train.json:1\).*a field is missing.*'span1_index'",
    ),
    (
        "clue/afqmc/train.json",
        '{"sentence1": "a", "sentence2": "b", "label": true}\n',
        lambda f: ds.CLUEDataset(f"{f}/clue/afqmc/train.json"),
        r"(?s)train.json:1\).*'label' must be text or a number",
    ),
    (
        "squad1/train-v1.1.json",
        '{"data": [\n {"par',
        lambda f: ds.SQuADDataset(f"{f}/squad1", "train"),
        r"train-v1.1.json: invalid JSON.*line 2",
    ),
    (
        "squad1/train-v1.1.json",
        SQUAD % '{"question": "q"}',
        lambda f: ds.SQuADDataset(f"{f}/squad1", "train"),
        r"data\[0\].paragraphs\[0\].qas\[0\] has no 'answers'",
    ),
    (
        "squad1/train-v1.1.json",
        SQUAD % '{"question": "q", "answers": [{"text": "a", "answer_start": "3"}]}',
        lambda f: ds.SQuADDataset(f"{f}/squad1", "train"),
        r"has no 'answer_start' of type int",
    ),
    (
        "multi30k/training/train.en",
        "one\n",
        lambda f: ds.Multi30kDataset(f"{f}/multi30k", "train"),
        r"(?s)differ in their number of lines.*train.en: 1 and .*train.de: 3",
    ),
    (
        "iwslt2016/texts/de/en/de-en/IWSLT16.TED.tst2013.de-en.de.xml",
        "<mteval>\n<doc>\n</mteval>",
        lambda f: ds.IWSLT2016Dataset(f"{f}/iwslt2016", "valid"),
        r"de.xml:3 is not valid XML",
    ),
    (
        "lj/metadata.csv",
        "LJ001-0001|a|b\nLJ001-0002|a\n",
        lambda f: ds.LJSpeechDataset(f"{f}/lj", shuffle=False),
        r"(?s)metadata.csv:2\).*the line cannot be parsed",
    ),
    (
        "lj/metadata.csv",
        "LJ001-0009|a|b\n",
        lambda f: ds.LJSpeechDataset(f"{f}/lj"),
        r"(?s)metadata.csv:1\).*sound file is missing.*LJ001-0009.wav",
    ),
    (
        "arctic/cmu_us_aew_arctic/etc/txt.done.data",
        "( arctic_a0002 text )\n",
        lambda f: ds.CMUArcticDataset(f"{f}/arctic"),
        r"(?s)txt.done.data:1\).*the line cannot be parsed",
    ),
    (
        "libri/dev-clean/84/121123/84_121123.trans.tsv",
        "84_121123_000007_000001\ta\n",
        lambda f: ds.LibriTTSDataset(f"{f}/libri", "dev-clean"),
        r"(?s)84_121123.trans.tsv:1\).*the line cannot be parsed",
    ),
    (
        "ted1/train/stm/Talk_A.stm",
        "Talk_A 1 Talk_A 0.5 x <o> hello\n",
        lambda f: ds.TedliumDataset(f"{f}/ted1", "release1", "train"),
        r"(?s)Talk_A.stm:1\).*the line cannot be parsed",
    ),
    (
        "ted1/train/stm/Talk_A.stm",
        "Talk_A 1 Talk_A 7 9 <o> hello\n",
        lambda f: ds.TedliumDataset(f"{f}/ted1", "release1", "train"),
        r"(?s)Talk_A.stm:1\).*no samples lie between the times",
    ),
    (
        "ted1/train/sph/Talk_A.sph",
        "no sound",
        lambda f: ds.TedliumDataset(f"{f}/ted1", "release1", "train", shuffle=False),
        r"(?s)Talk_A.stm:1\).*not a SPHERE file",
    ),
    (
        "yesno/0_0_0_0_1_1_1_1.wav",
        "no sound",
        lambda f: ds.YesNoDataset(f"{f}/yesno"),
        r"(?s)0_0_0_0_1_1_1_1.wav\).*not a PCM WAV file",
    ),
    (
        "yesno/0_yes.wav",
        "",
        lambda f: ds.YesNoDataset(f"{f}/yesno"),
        r"(?s)does not encode the answers.*0_yes.wav",
    ),
    (
        "commands/bed/a_nohash_x.wav",
        "",
        lambda f: ds.SpeechCommandsDataset(f"{f}/commands"),
        r"(?s)does not encode a speaker and a number.*a_nohash_x.wav",
    ),
    (
        "commands/testing_list.txt",
        "bed/zz_nohash_0.wav\n",
        lambda f: ds.SpeechCommandsDataset(f"{f}/commands", "test"),
        r"(?s)file of the dataset is missing.*zz_nohash_0.wav",
    ),
]
