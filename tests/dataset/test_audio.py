"""Audio transforms give what MindSpore gives, and refuse what they cannot change."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import audio
from mycelia.dataset.audio import scipy as guard
from tests.dataset.audio_cases import COMPLEX, POWERS, SHORT, STRIPES, WAVE, WHOLE, cases

pytest.importorskip("scipy", reason="SciPy is not installed")
GOLDENS = np.load(Path(__file__).with_name("goldens_audio.npz"))
CASES = cases(audio)


@pytest.mark.parametrize("name", CASES)
def test_a_transform_gives_what_mindspore_gives(name: str):
    made, golden = np.asarray(CASES[name]()), GOLDENS[name]
    assert made.dtype == golden.dtype
    assert made.shape == golden.shape
    if made.dtype.kind == "i":
        np.testing.assert_array_equal(made, golden)
    else:
        size = np.abs(golden).max() or 1
        np.testing.assert_allclose(made / size, golden / size, rtol=0, atol=5e-5)


def test_each_choice_has_mindspores_value():
    assert [border.value for border in audio.BorderType] == [
        "constant",
        "edge",
        "reflect",
        "symmetric",
    ]
    assert audio.DensityFunction("GPDF") is audio.DensityFunction.GPDF
    assert audio.FadeShape("half_sine") is audio.FadeShape.HALF_SINE
    assert audio.GainType("db") is audio.GainType.DB
    assert audio.Interpolation("quadratic") is audio.Interpolation.QUADRATIC
    assert audio.MelType("slaney") is audio.MelType.SLANEY
    assert audio.Modulation("triangular") is audio.Modulation.TRIANGULAR
    assert audio.NormMode("ortho") is audio.NormMode.ORTHO
    assert audio.NormType("slaney") is audio.NormType.SLANEY
    assert audio.ResampleMethod("kaiser_window") is audio.ResampleMethod.KAISER_WINDOW
    assert audio.ScaleType("magnitude") is audio.ScaleType.MAGNITUDE
    assert audio.WindowType("blackman") is audio.WindowType.BLACKMAN


def _band(row: np.ndarray) -> tuple[int, int]:
    """Where the mask of 99 begins and how wide it is."""
    places = np.flatnonzero(row == 99)
    assert np.array_equal(places, np.arange(len(places)) + (places[0] if len(places) else 0))
    return (int(places[0]) if len(places) else -1), len(places)


@pytest.mark.parametrize(
    ("step", "row", "length", "widest"),
    [
        (audio.TimeMasking(True, 4, 0, 99.0), (0, 0), 10, 4),
        (audio.FrequencyMasking(True, 3, 0, 99.0), (0, slice(None), 0), 6, 3),
        (audio.MaskAlongAxisIID(4, 99.0, 2), (0, 0), 10, 4),
        (audio.MaskAlongAxisIID(3, 99.0, 1), (0, slice(None), 0), 6, 3),
    ],
)
def test_random_masks_have_all_widths_and_places(step, row, length, widest):
    ds.config.set_seed(3)
    bands = {_band(step(STRIPES)[row]) for _ in range(600)}
    fits = {(at, w) for w in range(1, widest + 1) for at in range(length - w + 1)}
    assert bands == {(-1, 0)} | fits


def test_a_random_mask_hides_the_same_part_in_all_channels():
    made = audio.TimeMasking(True, 8, 0, 99.0)(np.zeros((3, 6, 10), np.float32))
    assert ((made == 99) == (made == 99)[:1, :1]).all()


def test_the_seed_repeats_random_transforms():
    for step, value in (
        (audio.GriffinLim(16, 2), POWERS),
        (audio.InverseMelScale(5, 9, 8000, max_iter=3), POWERS),
        (audio.Dither(audio.DensityFunction.GPDF), SHORT),
        (audio.TimeMasking(True, 8, 0, 99.0), POWERS),
    ):
        made = []
        for _ in range(2):
            ds.config.set_seed(5)
            made.append([step(value) for _ in range(4)])
        np.testing.assert_array_equal(made[0], made[1])
        assert any((made[0][0] != other).any() for other in made[0][1:])


def test_griffin_lim_comes_as_near_to_a_spectrogram_as_mindspore():
    target = audio.Spectrogram(n_fft=64, hop_length=16)(WAVE[0])
    ds.config.set_seed(2)

    def distance() -> float:
        found = audio.GriffinLim(64, 60, hop_length=16, length=400)(target)
        again = audio.Spectrogram(n_fft=64, hop_length=16)(found)
        return float(np.linalg.norm(again - target) / np.linalg.norm(target))

    distances = [distance() for _ in range(9)]
    assert np.median(distances) < 0.25  # MindSpore's median is 0.2
    assert max(distances) < 0.5


def test_inverse_mel_scale_finds_the_frequencies_that_the_mels_show():
    frequencies = np.random.RandomState(1).uniform(0.1, 2, (2, 5, 4)).astype(np.float32)
    mels = audio.MelScale(12, 8000, n_stft=5)(frequencies)
    found = audio.InverseMelScale(5, 12, 8000)(mels)
    assert found.shape == (2, 5, 4)
    np.testing.assert_allclose(found[:, 1:4], frequencies[:, 1:4], atol=0.05)
    assert (found >= 0).all()
    assert audio.InverseMelScale(5, 12, 8000, max_iter=2)(mels[0]).shape == (1, 5, 4)
    slow = audio.InverseMelScale(
        5, 12, 8000, max_iter=1, sgdargs={"sgd_lr": 0.0, "sgd_momentum": 0.0}
    )(mels)
    assert slow.min() >= 0
    assert slow.max() <= 1


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [(audio.DensityFunction.RPDF, -0.4, 0.1), (audio.DensityFunction.GPDF, 0.7, 4.2)],
)
def test_dither_adds_noise_made_of_samples(kind, low, high):
    signal = np.linspace(0.1, 0.6, 50, dtype=np.float64)
    ds.config.set_seed(1)
    for _ in range(20):
        steps = audio.Dither(kind)(signal) * 2**15
        np.testing.assert_allclose(steps, np.round(steps))
        noise = steps - signal * (2**15 - 2)
        assert low - 0.5 <= noise.min()
        assert noise.max() <= high + 0.5
        assert np.ptp(noise) <= 1


def test_vad_keeps_the_signal_from_where_the_voice_begins():
    time = np.arange(24000) / 8000
    tones = sum(np.sin(2 * np.pi * 150 * k * time) / k for k in range(1, 12))
    noise = np.random.RandomState(3).uniform(-0.002, 0.002, 24000)
    signal = (noise + 0.5 * tones * (time > 1.5)).astype(np.float32)
    kept = audio.Vad(8000)(signal)
    np.testing.assert_array_equal(kept, signal[-len(kept) :])
    assert 12000 <= len(kept) <= 13600  # the voice and at most 0.2 s before it
    earlier = audio.Vad(8000, pre_trigger_time=0.1)(signal)
    assert len(earlier) == len(kept) + 800
    assert audio.Vad(8000)(np.stack([signal, signal])).shape == (2, len(kept))
    assert len(audio.Vad(8000, trigger_level=20.0)(signal)) == 8800  # no voice so loud


def test_pitch_of_a_tone():
    tone = np.sin(2 * np.pi * 200 * np.arange(4000) / 8000).astype(np.float32)
    np.testing.assert_allclose(audio.DetectPitchFrequency(8000)(tone), 200, rtol=1e-3)


def test_a_spectrogram_and_its_inverse():
    spectra = audio.Spectrogram(n_fft=64, power=0.0)(WAVE)
    again = audio.InverseSpectrogram(length=400, n_fft=64)(spectra)
    np.testing.assert_allclose(again, WAVE, atol=1e-5)


def test_filters_keep_the_type_of_floats():
    half = audio.LowpassBiquad(8000, 1000)(SHORT.astype(np.float16))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, audio.LowpassBiquad(8000, 1000)(SHORT), atol=3e-3)


def test_the_flanger_keeps_the_type_of_ints():
    made = audio.Flanger(8000)(np.arange(-10, 10, dtype=np.int16).reshape(1, 20))
    assert made.dtype == np.int16
    np.testing.assert_array_equal(made[0], np.sign(np.arange(-10, 10)) * (made[0] != 0))


def test_inputs_stay_as_they_are():
    before = [x.copy() for x in (SHORT, WAVE, COMPLEX, POWERS, STRIPES, WHOLE)]
    for call in CASES.values():
        call()
    for old, new in zip(before, (SHORT, WAVE, COMPLEX, POWERS, STRIPES, WHOLE)):
        np.testing.assert_array_equal(old, new)


def test_transforms_in_a_pipeline():
    steps = [
        audio.BassBiquad(8000, 5.0),
        audio.MelSpectrogram(8000, 64, n_mels=12),
        audio.AmplitudeToDB(),
        audio.TimeMasking(True, 4),
    ]
    rows = {}
    for workers in (1, 3):
        data = ds.NumpySlicesDataset({"sound": [WAVE] * 6}, shuffle=False)
        ds.config.set_seed(9)
        mapped = data.map(steps, ["sound"], num_parallel_workers=workers)
        rows[workers] = [row["sound"] for row in mapped.create_dict_iterator(1, output_numpy=True)]
    np.testing.assert_array_equal(rows[1], rows[3])
    assert rows[1][0].shape == (2, 12, 13)
    loud = audio.AmplitudeToDB()(audio.MelSpectrogram(8000, 64, n_mels=12)(steps[0](WAVE)))
    assert ((rows[1][0] == loud) | (rows[1][0] == 0)).all()


def test_magphase_gives_two_columns_in_a_pipeline():
    data = ds.NumpySlicesDataset({"x": [COMPLEX]}, shuffle=False)
    data = data.map(audio.Magphase(), ["x"], ["size", "angle"])
    row = next(iter(data.create_dict_iterator(1, output_numpy=True)))
    np.testing.assert_array_equal(row["size"], audio.ComplexNorm()(COMPLEX))
    np.testing.assert_array_equal(row["angle"], audio.Angle()(COMPLEX))


def test_without_scipy_the_error_names_the_extra():
    with (
        mock.patch.object(guard, "signal", None),
        pytest.raises(ImportError, match=r"mycelia\[audio\]"),
    ):
        audio.LowpassBiquad(8000, 1000)(SHORT)


BAD = [
    (lambda: audio.AllpassBiquad(8000.0, 200.0), TypeError, "sample_rate"),
    (lambda: audio.AllpassBiquad(0, 200.0), ValueError, "sample_rate: out of range"),
    (lambda: audio.AllpassBiquad(8000, 200.0, 1.5), ValueError, "Q: out of range"),
    (lambda: audio.AllpassBiquad(8000, 200.0, 0), ValueError, "Q: out of range"),
    (lambda: audio.AllpassBiquad(8000, "200"), TypeError, "central_freq"),
    (lambda: audio.AllpassBiquad(8000, 200.0)(WHOLE), RuntimeError, "unsupported signal"),
    (lambda: audio.AllpassBiquad(8000, 200.0)([0.5]), TypeError, "requires an array"),
    (lambda: audio.AllpassBiquad(8000, 200.0)(SHORT, SHORT), RuntimeError, "requires one column"),
    (lambda: audio.BandBiquad(8000, 200.0, 0.7, 1), TypeError, "noise"),
    (lambda: audio.Biquad(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), ValueError, "a0: out of range"),
    (lambda: audio.DeemphBiquad(8000), ValueError, "44100, 48000"),
    (lambda: audio.RiaaBiquad(8000), ValueError, "44100, 48000, 88200, 96000"),
    (lambda: audio.LFilter([1.0], [1.0, 2.0]), ValueError, "different lengths"),
    (lambda: audio.LFilter(1.0, [1.0]), TypeError, "a_coeffs"),
    (lambda: audio.LFilter([], []), RuntimeError, "first of a_coeffs must not be 0"),
    (
        lambda: audio.LFilter([0.0, 1.0], [1.0, 1.0]),
        RuntimeError,
        "first of a_coeffs must not be 0",
    ),
    (lambda: audio.MuLawDecoding(1), RuntimeError, "quantization_channels"),
    (lambda: audio.MFCC(n_mfcc=200), RuntimeError, "must not exceed n_mels"),
    (lambda: audio.SlidingWindowCmn(0, center=True), RuntimeError, "cmn_window"),
    (lambda: audio.Flanger(-8000)(SHORT), RuntimeError, "sample_rate above speed"),
    (
        lambda: audio.DetectPitchFrequency(8000, freq_low=900, freq_high=500)(SHORT),
        RuntimeError,
        "twice freq_low",
    ),
    (lambda: audio.DetectPitchFrequency(8000)(SHORT), RuntimeError, "enough frames"),
    (lambda: audio.Filtfilt(["a"], [1.0]), TypeError, r"a_coeffs\[0\]"),
    (lambda: audio.AmplitudeToDB("power"), TypeError, "ScaleType"),
    (lambda: audio.AmplitudeToDB(amin=0.0), ValueError, "amin: out of range"),
    (lambda: audio.AmplitudeToDB()(SHORT[0]), RuntimeError, "frequency, time"),
    (lambda: audio.Spectrogram(n_fft=0), ValueError, "n_fft: out of range"),
    (lambda: audio.Spectrogram(n_fft=16, win_length=17), ValueError, "longer than the frame"),
    (lambda: audio.Spectrogram(window="hann"), TypeError, "WindowType"),
    (lambda: audio.Spectrogram(n_fft=400, center=False)(SHORT), RuntimeError, "shorter than"),
    (lambda: audio.Spectrogram()(np.array(["a"])), RuntimeError, "numbers"),
    (lambda: audio.InverseSpectrogram(n_fft=32)(COMPLEX), RuntimeError, "match n_fft"),
    (lambda: audio.GriffinLim(n_fft=32)(POWERS), RuntimeError, "match n_fft"),
    (lambda: audio.MelScale(4, n_stft=7)(POWERS), RuntimeError, "n_stft=7"),
    (lambda: audio.MelScale(4, 8000, 5000.0), ValueError, "frequency band is empty"),
    (lambda: audio.MelSpectrogram(onesided=False), RuntimeError, "one-sided"),
    (lambda: audio.LFCC(speckwargs={"power": 0.0}), RuntimeError, "one-sided"),
    (lambda: audio.MelSpectrogram(sample_rate=1), ValueError, "sample_rate: out of range"),
    (lambda: audio.InverseMelScale(9, sgdargs=3), TypeError, "sgdargs"),
    (lambda: audio.InverseMelScale(9, sgdargs={"sgd_lr": -1.0}), ValueError, "sgd_lr"),
    (lambda: audio.MFCC(dct_type=3), ValueError, "only type 2"),
    (lambda: audio.LFCC(speckwargs=3), TypeError, "speckwargs"),
    (lambda: audio.ComputeDeltas(2), ValueError, "win_length: out of range"),
    (lambda: audio.SlidingWindowCmn(-1), ValueError, "cmn_window: out of range"),
    (lambda: audio.TimeMasking(time_mask_param=11)(STRIPES), RuntimeError, "mask is larger"),
    (lambda: audio.TimeMasking(True, 11)(STRIPES), RuntimeError, "mask is larger"),
    (lambda: audio.FrequencyMasking(mask_value=-1.0), ValueError, "mask_value: out of range"),
    (lambda: audio.MaskAlongAxis(0, 0, 1.0, 1), ValueError, "mask_width: out of range"),
    (lambda: audio.MaskAlongAxisIID(1, 1.0, 3), ValueError, "axis: out of range"),
    (lambda: audio.Angle()(POWERS[..., :3]), RuntimeError, r"\[..., 2\]"),
    (lambda: audio.Vol(-1), ValueError, "gain: out of range"),
    (lambda: audio.Vol(0, audio.GainType.POWER), ValueError, "gain: out of range"),
    (lambda: audio.Fade(121)(SHORT), RuntimeError, "length of a fade"),
    (lambda: audio.DCShift(3), ValueError, "shift: out of range"),
    (lambda: audio.DCShift(1, "a"), TypeError, "limiter_gain"),
    (lambda: audio.Contrast(101), ValueError, "enhancement_amount: out of range"),
    (lambda: audio.Overdrive(101.0), ValueError, "gain: out of range"),
    (lambda: audio.Phaser(8000, delay_ms=6.0), ValueError, "delay_ms: out of range"),
    (lambda: audio.Phaser(8000, delay_ms=0.0)(SHORT), RuntimeError, "one sample or more"),
    (lambda: audio.Flanger(8000)(SHORT[0]), RuntimeError, "channel, time"),
    (lambda: audio.Flanger(8000)(np.ones((5, 20))), RuntimeError, "up to 4 channels"),
    (lambda: audio.Flanger(8000, depth=11.0), ValueError, "depth: out of range"),
    (lambda: audio.Dither("TPDF"), TypeError, "DensityFunction"),
    (lambda: audio.Vad(8000, noise_up_time=0.001), ValueError, "noise_up_time"),
    (lambda: audio.Vad(8000, lp_lifter_freq=100.0)(SHORT), RuntimeError, "lp_lifter_freq"),
    (lambda: audio.DetectPitchFrequency(8000)(WHOLE), RuntimeError, "float16, float32 or float64"),
    (lambda: audio.Resample(rolloff=2.0), ValueError, "rolloff: out of range"),
    (lambda: audio.Resample(0.5, 0.2)(SHORT), RuntimeError, "of 1 or more"),
    (lambda: audio.PhaseVocoder(1.0, 3), TypeError, "phase_advance"),
    (
        lambda: audio.PhaseVocoder(1.3, np.ones((8, 1), np.float32))(COMPLEX),
        RuntimeError,
        "phase_advance of",
    ),
    (lambda: audio.TimeStretch(4, 8, 1.3)(COMPLEX), RuntimeError, "n_freq=8"),
    (lambda: audio.PitchShift(8000, 2.5), TypeError, "n_steps"),
    (lambda: audio.create_dct(0, 4), ValueError, "n_mfcc: out of range"),
    (lambda: audio.linear_fbanks(9, 5000.0, 4000.0, 3, 8000), ValueError, "frequency band"),
    (lambda: audio.melscale_fbanks(9, -1.0, 4000.0, 3, 8000), ValueError, "f_min: out of range"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
