"""Backbones of recurrent layers: BiLSTM encoder, LSTM decoder with attention and copying."""
