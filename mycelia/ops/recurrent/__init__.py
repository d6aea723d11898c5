"""Recurrent layers: LSTM, GRU, and vanilla RNN."""
