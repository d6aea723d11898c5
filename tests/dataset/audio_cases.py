"""Calls of audio transforms without chance in them, for MindSpore's goldens and for our tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Cases = dict[str, Callable[[], Any]]


def _wave(size: int) -> np.ndarray:
    """Two channels: tones that rise, and noise that is the same on each machine."""
    time = np.arange(size) / 8000
    noise = np.random.RandomState(7).uniform(-0.1, 0.1, (2, size))
    tones = np.stack(
        [np.sin(2 * np.pi * 440 * time), np.sin(2 * np.pi * (200 + 900 * time) * time)]
    )
    return (0.6 * tones + noise).astype(np.float32)


def _voice(size: int) -> np.ndarray:
    """A tone of 150 Hz with overtones."""
    time = np.arange(size) / 8000
    return sum(np.sin(2 * np.pi * 150 * k * time) / k for k in range(1, 12)).astype(np.float32)


WAVE = _wave(400)
SHORT = np.ascontiguousarray(WAVE[:, :120])
LOUD = (SHORT * 3).astype(np.float32)
WHOLE = np.arange(-30, 30, dtype=np.int16).reshape(2, 30)
VOICE = _voice(3000) * np.float32(0.3)
SILENCE = np.zeros((2, 1800), np.float32)
COMPLEX = np.random.RandomState(5).uniform(-1, 1, (2, 9, 12, 2)).astype(np.float32)
POWERS = np.random.RandomState(6).uniform(0.01, 4, (2, 9, 12)).astype(np.float32)
STRIPES = np.arange(1, 61, dtype=np.float32).reshape(1, 6, 10)


def cases(audio: Any) -> Cases:
    """Name -> call."""
    return {
        **_spectra(audio),
        **_scales(audio),
        **_levels(audio),
        **_filters(audio),
        **_masks(audio),
        **_effects(audio),
        **_features(audio),
        **_times(audio),
    }


def _spectra(audio: Any) -> Cases:
    window, border = audio.WindowType, audio.BorderType
    made: Cases = {
        "spectrogram": lambda: audio.Spectrogram(n_fft=64)(WAVE),
        "spectrogram_vector": lambda: audio.Spectrogram(n_fft=64)(WAVE[0]),
        "spectrogram_batch": lambda: audio.Spectrogram(n_fft=32)(SHORT[None]),
        "spectrogram_double": lambda: audio.Spectrogram(n_fft=32)(SHORT.astype(np.float64)),
        "spectrogram_ints": lambda: audio.Spectrogram(n_fft=16)(WHOLE),
        "spectrogram_odd": lambda: audio.Spectrogram(n_fft=33, hop_length=7)(SHORT),
        "spectrogram_window": lambda: audio.Spectrogram(n_fft=32, win_length=21, hop_length=10)(
            SHORT
        ),
        "spectrogram_pad": lambda: audio.Spectrogram(n_fft=32, pad=9)(SHORT),
        "spectrogram_one": lambda: audio.Spectrogram(n_fft=32, power=1.0)(SHORT),
        "spectrogram_cube": lambda: audio.Spectrogram(n_fft=32, power=3.0)(SHORT),
        "spectrogram_complex": lambda: audio.Spectrogram(n_fft=32, power=0.0)(SHORT),
        "spectrogram_normalized": lambda: audio.Spectrogram(n_fft=32, normalized=True)(SHORT),
        "spectrogram_left": lambda: audio.Spectrogram(n_fft=32, center=False)(SHORT),
        "spectrogram_both_sides": lambda: audio.Spectrogram(n_fft=32, onesided=False)(SHORT),
        "spectrogram_both_complex": lambda: audio.Spectrogram(n_fft=16, power=0.0, onesided=False)(
            SHORT
        ),
        "spectrogram_both_odd": lambda: audio.Spectrogram(n_fft=15, power=0.0, onesided=False)(
            SHORT
        ),
        "spectrogram_short": lambda: audio.Spectrogram(n_fft=64)(SHORT[:, :20]),
        "centroid": lambda: audio.SpectralCentroid(8000, n_fft=64)(WAVE),
        "centroid_pad": lambda: audio.SpectralCentroid(44100, 32, 20, 8, 5, window.HAMMING)(SHORT),
        "mel_spectrogram": lambda: audio.MelSpectrogram(8000, n_fft=64, n_mels=12)(WAVE),
        "mel_spectrogram_all": lambda: audio.MelSpectrogram(
            8000,
            64,
            50,
            20,
            100.0,
            3000.0,
            3,
            10,
            window.HAMMING,
            1.0,
            True,
            True,
            border.EDGE,
            True,
            audio.NormType.SLANEY,
            audio.MelType.SLANEY,
        )(WAVE),
        "inverse_spectrogram": lambda: audio.InverseSpectrogram(n_fft=16)(COMPLEX),
        "inverse_spectrogram_length": lambda: audio.InverseSpectrogram(40, 16, 12, 5)(COMPLEX),
        "inverse_spectrogram_longer": lambda: audio.InverseSpectrogram(140, 16)(COMPLEX),
        "inverse_spectrogram_pad": lambda: audio.InverseSpectrogram(40, 16, pad=4)(COMPLEX),
        "inverse_spectrogram_norm": lambda: audio.InverseSpectrogram(n_fft=16, normalized=True)(
            COMPLEX
        ),
        "inverse_spectrogram_left": lambda: audio.InverseSpectrogram(
            n_fft=16, center=False, window=window.HAMMING
        )(COMPLEX),
        "inverse_spectrogram_both": lambda: audio.InverseSpectrogram(n_fft=16, onesided=False)(
            COMPLEX
        ),
    }
    for kind in ("BARTLETT", "BLACKMAN", "HAMMING", "HANN", "KAISER"):
        made[f"window_{kind}"] = lambda kind=kind: audio.Spectrogram(n_fft=32, window=window[kind])(
            SHORT
        )
    for kind in ("CONSTANT", "EDGE", "REFLECT", "SYMMETRIC"):
        made[f"border_{kind}"] = lambda kind=kind: audio.Spectrogram(
            n_fft=32, pad_mode=border[kind]
        )(SHORT)
    return made


def _scales(audio: Any) -> Cases:
    slaney, mel = audio.NormType.SLANEY, audio.MelType.SLANEY
    return {
        "fbanks": lambda: audio.melscale_fbanks(33, 0.0, 4000.0, 10, 8000),
        "fbanks_slaney": lambda: audio.melscale_fbanks(33, 20, 3500, 10, 8000, slaney, mel),
        "fbanks_norm": lambda: audio.melscale_fbanks(20, 20.0, 3500.0, 7, 8001, slaney),
        "linear_fbanks": lambda: audio.linear_fbanks(33, 0.0, 4000.0, 10, 8000),
        "linear_fbanks_part": lambda: audio.linear_fbanks(20, 100.0, 3000.0, 7, 8000),
        "dct": lambda: audio.create_dct(8, 12),
        "dct_ortho": lambda: audio.create_dct(8, 12, audio.NormMode.ORTHO),
        "mel_scale": lambda: audio.MelScale(5, 8000, n_stft=9)(POWERS),
        "mel_scale_slaney": lambda: audio.MelScale(5, 8000, 50.0, 3000.0, 9, slaney, mel)(POWERS),
        "mel_scale_matrix": lambda: audio.MelScale(4, n_stft=9)(POWERS[0]),
        "to_db": lambda: audio.AmplitudeToDB()(POWERS),
        "to_db_magnitude": lambda: audio.AmplitudeToDB(audio.ScaleType.MAGNITUDE, 2.0, 0.5, 9.0)(
            POWERS
        ),
        "to_db_power": lambda: audio.AmplitudeToDB(audio.ScaleType.POWER, 3.0, 1e-3, 5.0)(POWERS),
        "to_db_matrix": lambda: audio.AmplitudeToDB(top_db=5.0)(POWERS[0]),
        "to_db_batch": lambda: audio.AmplitudeToDB(top_db=5.0)(
            POWERS[None] * np.ones((2, 1, 1, 1), np.float32)
        ),
        "from_db": lambda: audio.DBToAmplitude(1.5, 0.5)(POWERS),
        "from_db_ints": lambda: audio.DBToAmplitude(1, 1)(WHOLE),
    }


def _levels(audio: Any) -> Cases:
    gains, shapes = audio.GainType, audio.FadeShape
    made: Cases = {
        "vol": lambda: audio.Vol(0.5)(SHORT),
        "vol_loud": lambda: audio.Vol(2.0)(LOUD),
        "vol_db": lambda: audio.Vol(-3, gains.DB)(SHORT),
        "vol_power": lambda: audio.Vol(0.25, gains.POWER)(SHORT),
        "vol_ints": lambda: audio.Vol(0.5)(WHOLE),
        "gain": lambda: audio.Gain()(SHORT),
        "gain_db": lambda: audio.Gain(-4.5)(SHORT),
        "gain_ints": lambda: audio.Gain(3)(WHOLE),
        "contrast": lambda: audio.Contrast()(SHORT),
        "contrast_some": lambda: audio.Contrast(20.0)(SHORT),
        "shift": lambda: audio.DCShift(0.4)(SHORT),
        "shift_up": lambda: audio.DCShift(0.5, 0.02)(SHORT),
        "shift_down": lambda: audio.DCShift(-0.5, 0.02)(SHORT),
        "mu_encode": lambda: audio.MuLawEncoding()(SHORT),
        "mu_encode_few": lambda: audio.MuLawEncoding(16)(SHORT),
        "mu_encode_double": lambda: audio.MuLawEncoding()(SHORT.astype(np.float64)),
        "mu_decode": lambda: audio.MuLawDecoding()(np.arange(0, 256, 5, dtype=np.int32)),
        "mu_decode_few": lambda: audio.MuLawDecoding(16)(np.arange(16, dtype=np.float32)),
        "magphase": lambda: np.stack(audio.Magphase()(COMPLEX)),
        "magphase_power": lambda: np.stack(audio.Magphase(2.0)(COMPLEX)),
        "angle": lambda: audio.Angle()(COMPLEX),
        "angle_double": lambda: audio.Angle()(COMPLEX.astype(np.float64)),
        "norm": lambda: audio.ComplexNorm()(COMPLEX),
        "norm_power": lambda: audio.ComplexNorm(3.0)(COMPLEX),
        "norm_double": lambda: audio.ComplexNorm(2)(COMPLEX.astype(np.float64)),
        "overdrive": lambda: audio.Overdrive()(SHORT),
        "overdrive_more": lambda: audio.Overdrive(35.0, 60.0)(SHORT),
        "overdrive_ints": lambda: audio.Overdrive()(WHOLE),
    }
    for shape in ("QUARTER_SINE", "HALF_SINE", "LINEAR", "LOGARITHMIC", "EXPONENTIAL"):
        made[f"fade_{shape}"] = lambda shape=shape: audio.Fade(30, 20, shapes[shape])(SHORT)
    return {
        **made,
        "fade_none": lambda: audio.Fade()(SHORT),
        "fade_ints": lambda: audio.Fade(5, 9)(WHOLE),
        "fade_double": lambda: audio.Fade(5, 9)(SHORT.astype(np.float64)),
    }


def _filters(audio: Any) -> Cases:
    return {
        "allpass": lambda: audio.AllpassBiquad(44100, 200.0)(SHORT),
        "allpass_loud": lambda: audio.AllpassBiquad(8000, 900, 0.4)(LOUD),
        "allpass_double": lambda: audio.AllpassBiquad(44100, 200.0)(SHORT.astype(np.float64)),
        "allpass_vector": lambda: audio.AllpassBiquad(44100, 200.0)(SHORT[0]),
        "band": lambda: audio.BandBiquad(44100, 200.0)(SHORT),
        "band_noise": lambda: audio.BandBiquad(8000, 700.0, 0.9, True)(SHORT),
        "bandpass": lambda: audio.BandpassBiquad(44100, 200.0)(SHORT),
        "bandpass_skirt": lambda: audio.BandpassBiquad(8000, 700.0, 0.9, True)(SHORT),
        "bandreject": lambda: audio.BandrejectBiquad(44100, 200.0)(SHORT),
        "bandreject_q": lambda: audio.BandrejectBiquad(8000, 700.0, 0.3)(SHORT),
        "bass": lambda: audio.BassBiquad(44100, 10.0)(SHORT),
        "bass_q": lambda: audio.BassBiquad(8000, -7.0, 300.0, 0.4)(SHORT),
        "treble": lambda: audio.TrebleBiquad(44100, 5.0)(SHORT),
        "treble_q": lambda: audio.TrebleBiquad(8000, -7.0, 1000, 0.4)(SHORT),
        "equalizer": lambda: audio.EqualizerBiquad(44100, 1500, 5.5)(SHORT),
        "equalizer_q": lambda: audio.EqualizerBiquad(8000, 600.0, -5.5, 0.3)(SHORT),
        "highpass": lambda: audio.HighpassBiquad(44100, 1500)(SHORT),
        "highpass_q": lambda: audio.HighpassBiquad(8000, 600.0, 0.3)(SHORT),
        "lowpass": lambda: audio.LowpassBiquad(8000, 1000)(SHORT),
        "lowpass_q": lambda: audio.LowpassBiquad(44100, 3000.0, 0.3)(SHORT),
        "deemph": lambda: audio.DeemphBiquad(44100)(SHORT),
        "deemph_higher": lambda: audio.DeemphBiquad(48000)(SHORT),
        "riaa": lambda: audio.RiaaBiquad(44100)(SHORT),
        "riaa_higher": lambda: audio.RiaaBiquad(48000)(SHORT),
        "riaa_88200": lambda: audio.RiaaBiquad(88200)(SHORT),
        "riaa_96000": lambda: audio.RiaaBiquad(96000)(SHORT),
        "biquad": lambda: audio.Biquad(0.3, 0.2, 0.1, 1.0, -0.4, 0.2)(SHORT),
        "biquad_scaled": lambda: audio.Biquad(0.6, 0.2, 0.1, 2.0, -0.4, 0.2)(LOUD),
        "lfilter": lambda: audio.LFilter([1.0, 0.1, 0.3], [0.5, 0.4, 0.2])(SHORT),
        "lfilter_clamp": lambda: audio.LFilter([0.5, 0.1], [0.9, 0.4], True)(LOUD),
        "lfilter_loud": lambda: audio.LFilter([0.5, 0.1], [0.9, 0.4], False)(LOUD),
        "lfilter_double": lambda: audio.LFilter([0.5, 0.1], [0.9, 0.4], False)(
            LOUD.astype(np.float64)
        ),
        "filtfilt": lambda: audio.Filtfilt([1.0, 0.1, 0.3], [0.5, 0.4, 0.2])(SHORT),
        "filtfilt_loud": lambda: audio.Filtfilt([1.0, 0.1], [0.5, 0.4], False)(LOUD),
        "filtfilt_clamp": lambda: audio.Filtfilt([1.0, 0.1], [0.9, 0.4], True)(LOUD),
    }


def _masks(audio: Any) -> Cases:
    return {
        "time_mask_none": lambda: audio.TimeMasking()(STRIPES),
        "time_mask": lambda: audio.TimeMasking(False, 3, 4, 5.5)(STRIPES),
        "time_mask_end": lambda: audio.TimeMasking(time_mask_param=6, mask_start=4)(STRIPES),
        "frequency_mask_none": lambda: audio.FrequencyMasking()(STRIPES),
        "frequency_mask": lambda: audio.FrequencyMasking(False, 2, 1, 5.5)(STRIPES),
        "mask_along_axis": lambda: audio.MaskAlongAxis(2, 3, 7.5, 1)(STRIPES),
        "mask_along_axis_time": lambda: audio.MaskAlongAxis(2, 3, 7.5, 2)(STRIPES),
        "mask_along_axis_double": lambda: audio.MaskAlongAxis(0, 3, -1, 2)(
            STRIPES.astype(np.float64)
        ),
        "mask_each_none": lambda: audio.MaskAlongAxisIID(0, 7.5, 1)(STRIPES),
    }


def _effects(audio: Any) -> Cases:
    waves, between = audio.Modulation, audio.Interpolation
    return {
        "phaser": lambda: audio.Phaser(8000)(WAVE),
        "phaser_triangle": lambda: audio.Phaser(8000, 0.7, 0.9, 2.0, 0.3, 1.5, False)(WAVE),
        "flanger": lambda: audio.Flanger(8000)(WAVE),
        "flanger_triangle": lambda: audio.Flanger(
            8000, 3.0, 4.0, 30.0, 60.0, 5.0, 40.0, waves.TRIANGULAR
        )(WAVE),
        "flanger_quadratic": lambda: audio.Flanger(
            8000, 3.0, 4.0, -30.0, 60.0, 5.0, 40.0, waves.SINUSOIDAL, between.QUADRATIC
        )(WAVE),
        "dither": lambda: audio.Dither()(SHORT),
        "dither_shaped": lambda: audio.Dither(noise_shaping=True)(SHORT),
        "vad_silence": lambda: audio.Vad(8000)(SILENCE),
        "vad_short_silence": lambda: audio.Vad(8000)(SILENCE[:, :500]),
        "vad_search": lambda: audio.Vad(8000, search_time=0.1, pre_trigger_time=0.02)(SILENCE),
        "pitch": lambda: audio.DetectPitchFrequency(8000, 0.01, 5)(VOICE),
        "pitch_low": lambda: audio.DetectPitchFrequency(8000, 0.02, 3, 100, 1000)(WAVE * 0.5),
    }


def _features(audio: Any) -> Cases:
    window, border = audio.WindowType.HANN, audio.BorderType.REFLECT
    spectrum = {
        "n_fft": 64,
        "win_length": 64,
        "hop_length": 32,
        "pad": 0,
        "window": window,
        "power": 2.0,
        "normalized": False,
        "center": True,
        "pad_mode": border,
        "onesided": True,
    }
    mel = dict(
        f_min=0.0,
        f_max=4000.0,
        n_mels=16,
        norm=audio.NormType.NONE,
        mel_scale=audio.MelType.HTK,
        **spectrum,
    )
    return {
        "mfcc": lambda: audio.MFCC(8000, 8, melkwargs=mel)(WAVE),
        "mfcc_log": lambda: audio.MFCC(8000, 8, 2, audio.NormMode.NONE, True, mel)(WAVE),
        "lfcc": lambda: audio.LFCC(8000, 16, 8, speckwargs=spectrum)(WAVE),
        "lfcc_log": lambda: audio.LFCC(
            8000, 16, 8, 100.0, 3000.0, 2, audio.NormMode.NONE, True, spectrum
        )(WAVE),
        "deltas": lambda: audio.ComputeDeltas()(POWERS),
        "deltas_wide": lambda: audio.ComputeDeltas(7, audio.BorderType.REFLECT)(POWERS),
        "deltas_double": lambda: audio.ComputeDeltas(3, audio.BorderType.CONSTANT)(
            POWERS.astype(np.float64)
        ),
        "cmn": lambda: audio.SlidingWindowCmn(5, 3)(POWERS),
        "cmn_center": lambda: audio.SlidingWindowCmn(5, 3, True, True)(POWERS),
        "cmn_vars": lambda: audio.SlidingWindowCmn(5, 4, False, True)(POWERS),
        "cmn_default": lambda: audio.SlidingWindowCmn()(POWERS),
        "cmn_matrix": lambda: audio.SlidingWindowCmn(5, 3)(POWERS[0]),
    }


def _times(audio: Any) -> Cases:
    kaiser = audio.ResampleMethod.KAISER_WINDOW
    phases = (np.arange(9, dtype=np.float32) * np.float32(0.7)).reshape(9, 1)
    return {
        "resample_same": lambda: audio.Resample()(SHORT),
        "resample_down": lambda: audio.Resample(16000, 8000)(SHORT),
        "resample_up": lambda: audio.Resample(8000, 12000)(SHORT),
        "resample_kaiser": lambda: audio.Resample(16000, 10000, kaiser, 8, 0.9, 12.0)(SHORT),
        "resample_kaiser_default": lambda: audio.Resample(16000, 10000, kaiser)(SHORT),
        "resample_vector": lambda: audio.Resample(48000, 44100)(SHORT[0]),
        "resample_floats": lambda: audio.Resample(800.5, 400.2)(SHORT),
        "resample_double": lambda: audio.Resample(16000, 8000)(SHORT.astype(np.float64)),
        "vocoder": lambda: audio.PhaseVocoder(1.3, phases)(COMPLEX),
        "vocoder_slow": lambda: audio.PhaseVocoder(0.8, phases)(COMPLEX),
        "vocoder_double": lambda: audio.PhaseVocoder(1.3, phases.astype(np.float64))(
            COMPLEX.astype(np.float64)
        ),
        "stretch": lambda: audio.TimeStretch(4, 9, 1.3)(COMPLEX),
        "stretch_default": lambda: audio.TimeStretch(None, 9, 0.9)(COMPLEX),
        "stretch_none": lambda: audio.TimeStretch(None, 9)(COMPLEX),
        "pitch_shift": lambda: audio.PitchShift(8000, 4, n_fft=64)(WAVE),
        "pitch_shift_down": lambda: audio.PitchShift(
            8000, -3, 24, 64, 50, 10, audio.WindowType.HAMMING
        )(WAVE),
        "griffin_lim": lambda: audio.GriffinLim(16, 8, rand_init=False)(POWERS),
        "griffin_lim_length": lambda: audio.GriffinLim(
            16, 5, 12, 6, audio.WindowType.HAMMING, 1.0, 0.5, 67, False
        )(POWERS),
    }
