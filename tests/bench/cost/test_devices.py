"""Devices: their table, what is asked on the command line, and peaks by precision."""

import pytest

from bench.cost.devices import CPU_FLOPS, DEVICES, cpu_memory, device_asked, memory_bytes, named_device
from bench.errors import UsageError


def test_every_device_says_where_its_numbers_are_from():
    for name, device in DEVICES.items():
        assert name == device.name
        assert device.source
        assert device.flops["float32"] <= device.flops["float16"]


def test_peaks_are_those_of_the_precision():
    a100 = DEVICES["a100-80gb"]
    assert a100.peak("32-true") == 19.5e12
    assert a100.peak("32-true", "high") == 156e12
    assert a100.peak("bf16-mixed") == a100.peak("16-mixed") == 312e12


def test_a_device_without_bfloat16_computes_it_in_float32():
    assert DEVICES["v100"].peak("bf16-mixed") == 15.7e12
    assert DEVICES["v100"].peak("32-true", "high") == 15.7e12


@pytest.mark.parametrize(
    ("seen", "name"),
    [("NVIDIA A100-SXM4-40GB", "a100-40gb"), ("NVIDIA H200", "h200"), ("NVIDIA RTX A6000", "a6000")],
)
def test_what_cuda_calls_a_device_is_known(seen, name):
    assert named_device(seen).name == name
    assert named_device("a device of tomorrow") is None


def test_memory_may_be_another():
    assert device_asked("h100", "40GB").memory == 40 * 10**9
    assert device_asked("h100", None).memory == 80 * 2**30
    cpu = device_asked("cpu", None, threads=2)
    assert (cpu.kind, cpu.flops["float32"]) == ("cpu", 2 * CPU_FLOPS)


@pytest.mark.parametrize("text", ["80", "lots", "-1GB", "80 XB"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(UsageError, match="--memory takes an amount such as 80GB"):
        memory_bytes(text)


def test_an_unknown_device_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="no device 'a600'; did you mean 'a6000'"):
        device_asked("a600", None)


def test_a_control_group_bounds_the_memory(tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("1048576\n")
    assert cpu_memory(limit) == 2**20
    limit.write_text("max\n")
    assert cpu_memory(limit) > 2**20
