"""Memory: live bytes counted by hand, lines through points, phases of a step, and the micro-batch that fits."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from bench.cost.live_bytes import AsOnGPU, LiveBytes
from bench.cost.memory import HEAP, MARGIN, Memory, Shares, largest_micro_batch, peak_bytes
from bench.cost.parameters import Parameters, count

KB = 1024  # bytes of 256 numbers of float32


def test_live_bytes_are_those_of_storages_that_are_held():
    with FakeTensorMode() as fake, LiveBytes(fake) as counter:
        first = torch.empty(256)
        assert counter.live == KB
        view = first.view(16, 16)[1:]
        assert counter.live == KB  # the same storage
        second = first + 1
        assert (counter.live, counter.peak) == (2 * KB, 2 * KB)
        del second
        assert (counter.live, counter.peak) == (KB, 2 * KB)
        del first
        assert counter.live == KB  # a view holds it
        del view
        assert counter.live == 0
        counter.reset_peak()
        assert counter.peak == 0


def test_what_autograd_keeps_for_the_backward_pass_is_live():
    with FakeTensorMode() as fake:
        weight = nn.Parameter(torch.empty(256))
        with LiveBytes(fake) as counter:
            made = (weight * 2).exp().sum()
            assert counter.live == KB + 4  # exp keeps its result, the product keeps a number
            made.backward()
            del made
            assert counter.live == KB  # the gradient


def test_tensors_that_hold_numbers_are_taken_as_blank_ones():
    numbers = torch.ones(256)
    with FakeTensorMode() as fake, LiveBytes(fake):
        assert (torch.empty(256) + numbers).shape == (256,)


def test_on_a_gpu_dropout_keeps_a_byte_and_attention_no_square():
    def kept(on_gpu):
        with FakeTensorMode() as fake:
            values = torch.empty(1, 1, 64, 8, requires_grad=True)
            with LiveBytes(fake) as counter:
                if on_gpu:
                    with AsOnGPU():
                        made = attention(values)
                else:
                    made = attention(values)
                assert made.shape == values.shape
                return counter.live

    def attention(values):
        out = nn.functional.scaled_dot_product_attention(values, values, values, dropout_p=0.1)
        return nn.functional.dropout(out, 0.1, training=True)

    square = 64 * 64 * 4
    assert kept(on_gpu=False) > square
    assert kept(on_gpu=True) < square


MEMORY = Memory((1, 4, 8), (10, 40, 80), (8, 32, 64), (20, 50, 90), (6, 12, 12), (2, 2, 2))


def test_bytes_lie_on_the_line_through_the_two_nearest_points():
    assert [MEMORY.at("forward", rows) for rows in (1, 2, 4, 16)] == [10, 20, 40, 160]
    assert [MEMORY.at("loss", rows) for rows in (1, 2, 4, 6, 100)] == [6, 8, 12, 12, 12]


def test_phases_of_a_step():
    parameters = Parameters(trained=100, frozen=10, largest=40)
    held = 4 * 110 + 8 * 100
    assert peak_bytes(MEMORY, parameters, 1, 1, "cpu") == {
        "forward": held + 400 + 10 + HEAP * 8,
        "loss": held + 400 + 8 + 6 + HEAP * 8,
        "backward": held + 2 + 20 + HEAP * 8,
        "optimiser": held + 400 + 2 * 4 * 40,
    }
    on_gpu = peak_bytes(MEMORY, parameters, 1, 2, "cuda")
    assert on_gpu["backward"] == held + 2 + 400 + 8 + 4 * 40  # gradients of the micro-batch before stay
    assert on_gpu["optimiser"] == held + 400 + 400
    assert on_gpu["forward"] == held + 400 + 10


@pytest.mark.parametrize(("available", "wanted"), [(64, 1), (63, 2), (16, 4), (4, 16), (3, None)])
def test_the_largest_micro_batch_that_fits(available, wanted):
    assert largest_micro_batch(16, 1, lambda rows, _: 4 * rows / MARGIN, available) == wanted


def test_more_micro_batches_may_be_asked_for_and_processes_share_a_batch():
    assert largest_micro_batch(16, 1, lambda rows, _: 1.0, 100, least=4) == 4
    assert largest_micro_batch(16, 4, lambda rows, _: 4 * rows / MARGIN, 4) == 4
    assert largest_micro_batch(16, 4, lambda rows, _: 4 * rows / MARGIN, 3) is None


def test_parameters_are_counted_once_each():
    layer = nn.Linear(3, 2)
    both = nn.ModuleList([layer, layer, nn.Linear(5, 1)])
    both[2].weight.requires_grad_(False)
    assert count(both) == Parameters(trained=9, frozen=5, largest=6)


def test_shares_of_two_ranks():
    """Weights, moments and gradients by two; beside them the other half of two layers and of what is in no layer."""
    parameters = Parameters(trained=100, frozen=0, largest=40)
    shares = Shares(ranks=2, layer=10, layers=6)  # 40 parameters are in no layer
    held, gathered = (4 * 100 + 8 * 100) / 2, 4 * (40 + 2 * 10) / 2
    assert peak_bytes(MEMORY, parameters, 1, 1, "cpu", shares) == {
        "forward": held + 2 * gathered + 200 + 10 + HEAP * 8,
        "loss": held + 2 * gathered + 200 + 8 + 6 + HEAP * 8,
        "backward": held + 2 * gathered + 2 + 200 + 8 + 2 * gathered + HEAP * 8,
        "optimiser": held + 200 + 2 * 4 * 20,
    }
    alone = peak_bytes(MEMORY, parameters, 1, 2, "cuda")
    assert peak_bytes(MEMORY, parameters, 1, 2, "cuda", Shares()) == alone


def test_a_model_of_two_layers_is_gathered_whole():
    assert Shares(2, 10, 2).gathered(100, 100) == 50
    assert Shares(4, 10, 2).gathered(100, 100) == 75
    assert Shares(4, 10, 4).gathered(10, 100) == 6  # a tenth of each layer is trained
    assert Shares().gathered(100, 100) == 0
