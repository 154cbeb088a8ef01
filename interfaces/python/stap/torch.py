"""The networks of a model file in PyTorch, to train on, to differentiate or to run elsewhere.

    import stap.torch

    model = stap.torch.load("model.safetensors")        # of `stap export-model RUN`, any family
    v = model(u)                                        # [B, C, X...]: the averaged model
    loss = ((model.rollout(u, 8) - truth) ** 2).mean(); loss.backward()

Outputs are those of `stap` up to rounding (1e-5 of the state).
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._found import need

torch: Any = need("torch", "stap.torch")
functional: Any = torch.nn.functional

__all__ = ["Committee", "load"]

_KNOWN = {"fno", "dilated", "time_input", "position_input", "conserved", "cluster", "parameters", "shifts",
          "walls", "padding", "fixed_fields", "convolved_padding", "dilated_shifts"}


def load(path: str | os.PathLike[str]) -> Committee:
    """All networks of a model file."""
    need("numpy", "model files")
    from stap_solver import crc32c

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: 'stap export-model {path} --out model.safetensors' "
                                "writes the file")
    content = path.read_bytes()
    try:
        (size,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + size])
        about = header.pop("__metadata__")
        requires, spec = json.loads(about["requires"]), json.loads(about["spec"])
    except (struct.error, ValueError, KeyError):
        raise ValueError(f"{path} is no model file of the format model/4 ('stap export-model' writes "
                         "one)") from None
    unknown = sorted(set(requires) - _KNOWN)
    if unknown:
        raise ValueError(f"{path} requires {', '.join(unknown)}, which this version does not know")
    at = content.find(b'"seal":"crc32c:', 8, 8 + size) + 15  # of the file with zeros for its digits
    if at < 15 or b"%08x" % crc32c(content[:at] + b"0" * 8 + content[at + 8 :]) != content[at : at + 8]:
        raise ValueError(f"{path} is damaged: its checksum does not fit")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        block = bytearray(content[8 + size + begin : 8 + size + end])
        tensors[name] = torch.frombuffer(block, dtype=torch.float32).reshape(entry["shape"])
    return Committee(spec, tensors)


class Committee(torch.nn.Module):
    """Networks of one file; their weights are Parameters. States are [B, C, X...] in the problem's units,
    of a surrogate of several steps at once [B, k C, X...]."""

    def __init__(self, spec: Mapping[str, Any], tensors: Mapping[str, Any]):
        super().__init__()
        around = _Around(spec, tensors)
        count = 1 + max(int(name.split("/")[0]) for name in tensors if name[0].isdigit())
        self.networks = torch.nn.ModuleList(
            _Network(around, {name.split("/", 1)[1]: value for name, value in tensors.items()
                              if name.startswith(f"{m}/")})
            for m in range(count))

    def forward(self, u: Any, step: Any = 0, parameters: Mapping[str, Any] | None = None,
                member: int | None = None) -> Any:
        """The states one step later, of the averaged model or a member. step: how many steps lead to
        `u`, a number or [B], for networks with a time input. parameters: values by name, likewise."""
        if member is not None:
            if not 0 <= member < len(self.networks):
                raise IndexError(f"there is no network {member}: expected 0 to {len(self.networks) - 1}")
            return self.networks[member](u, step, parameters)
        return torch.stack([network(u, step, parameters) for network in self.networks]).mean(0)

    def rollout(self, u: Any, steps: int, step: int = 0,
                parameters: Mapping[str, Any] | None = None, member: int | None = None) -> Any:
        """[B, steps + 1, C, X...], `u` first."""
        states = [u]
        for i in range(steps):
            states.append(self(states[-1], step + i, parameters, member))
        return torch.stack(states, 1)


class _Around(torch.nn.Module):
    """What surrounds every network of a file, and has no weights."""

    def __init__(self, spec: Mapping[str, Any], tensors: Mapping[str, Any]):
        super().__init__()
        self.network: dict[str, Any] = spec["network"]
        self.points: list[int] = spec["points"]
        self.channels: int = spec["channels"]
        self.conserved: list[int] = spec.get("conserved", [])
        self.horizon: int = spec.get("horizon") or 0
        self.told = sorted(spec.get("parameters", []), key=lambda p: p["name"])
        self.shifts = bool(self.told) and self.network.get("parameter_input") == "shifts"
        self.delta = self.network.get("target", "delta") == "delta"
        axes = len(self.points)
        walls = spec.get("walls") or ["periodic"] * axes
        padding = self.network.get("padding") or {}
        shares = padding.get("share") or [0.0] * axes
        kinds = padding.get("kind") or ["blended"] * axes
        self.beyond: list[str] = []  # what convolutions see behind the ends of each axis
        signed, plain = [], []
        for axis, n in enumerate(self.points):
            more = 0 if walls[axis] == "periodic" else _round(shares[axis] * n)
            inside = walls[axis] != "periodic" and kinds[axis].startswith("conv-")
            self.beyond.append(f"{kinds[axis]} {walls[axis]}" if inside else "periodic")
            signed.append(_lines(n, more, walls[axis], kinds[axis], True))
            plain.append(_lines(n, more, walls[axis], kinds[axis], False))
        self.axes = axes
        self.padded = any(len(m) > n for m, n in zip(signed, self.points))
        for axis in range(axes):
            self.register_buffer(f"lines{axis}", signed[axis], persistent=False)
        sizes = [len(m) for m in signed]
        placed = []
        if self.network.get("position_input"):
            placed += _positions(self.points, sizes, walls)
        mask = tensors.get("mask")
        self.register_buffer("mask", mask, persistent=False)
        fixed = ([] if mask is None else [mask]) + (list(tensors["fixed"]) if "fixed" in tensors else [])
        for i, field in enumerate(fixed):
            if mask is not None and i > 0:
                field = field * mask
            for axis in range(axes):
                field = _along(plain[axis], field, axis - axes)
            placed.append(field)
        self.register_buffer("placed", torch.stack(placed) if placed else None, persistent=False)

    def told_of(self, u: Any, step: Any, parameters: Mapping[str, Any] | None) -> list[Any]:
        """One [B] for the time, if there is one, and each parameter, from -1 to 1 over its range."""
        def of_rows(value: Any) -> Any:
            return torch.as_tensor(value, dtype=u.dtype, device=u.device).expand(len(u))

        given = dict(parameters or {})
        names = [p["name"] for p in self.told]
        if set(given) != set(names):
            raise ValueError(f"parameters are {sorted(given) or 'not given'}, expected {names or 'none'}")
        told = [of_rows(step) / self.horizon] if self.network.get("time_input") else []
        for p in self.told:
            value = of_rows(given[p["name"]])
            least, greatest = min(p["values"]), max(p["values"])
            if least == greatest:
                value = torch.zeros_like(value)
            else:
                if p["draw"] == "log":
                    value, least, greatest = value.log(), math.log(least), math.log(greatest)
                value = 2 * (value - least) / (greatest - least) - 1
            told.append(value)
        return told

    def input(self, u: Any, scaled: Callable[[Any], Any], told: Sequence[Any]) -> Any:
        """The channels that a body gets, on its ring."""
        if self.mask is not None:
            u = u * self.mask
        for axis in range(self.axes) if self.padded else ():
            u = _along(getattr(self, f"lines{axis}"), u, axis - self.axes)
        x = [scaled(u)]
        sizes = x[0].shape[2:]
        x += [value.reshape(-1, 1, *[1] * self.axes).expand(-1, 1, *sizes) for value in told]
        if self.placed is not None:
            x.append(self.placed.expand(len(u), *self.placed.shape))
        return torch.cat(x, 1)

    def finish(self, u: Any, made: Any) -> Any:
        """What is masked is 0, and conserved means are those of `u`."""
        if self.mask is not None:
            made = made * self.mask
        if not self.conserved:
            return made
        over = tuple(range(2, made.ndim))
        count = math.prod(self.points) if self.mask is None else self.mask.sum()
        open_u = u if self.mask is None else u * self.mask
        shift = (open_u.sum(over, keepdim=True) - made.sum(over, keepdim=True)) / count
        keep = torch.zeros(self.channels, device=u.device, dtype=u.dtype)
        keep[self.conserved] = 1
        shift = shift * keep.reshape(-1, *[1] * self.axes)
        return made + (shift if self.mask is None else shift * self.mask)


class _Network(torch.nn.Module):
    def __init__(self, around: _Around, tensors: dict[str, Any]):
        super().__init__()
        self.around = around
        axes = around.axes
        for name in ("mean", "deviation"):
            self.register_buffer(name, tensors.pop(name).reshape(-1, *[1] * axes))
        # Names of Parameters have no dots.
        self.weights = torch.nn.ParameterDict(
            {name.replace(".", "_"): torch.nn.Parameter(value) for name, value in tensors.items()})
        self.body = self._fno if around.network.get("name", "fno") == "fno" else self._dilated
        self.convolve = functional.conv1d if axes == 1 else functional.conv2d

    def forward(self, u: Any, step: Any, parameters: Mapping[str, Any] | None) -> Any:
        around = self.around
        told = around.told_of(u, step, parameters)
        first = len(told) - len(around.told) if around.shifts else len(told)
        x = around.input(u, lambda v: (v - self.mean) / self.deviation, told[:first])
        made = self.body(x, told[first:])
        for axis, n in enumerate(around.points):
            made = made.narrow(axis - around.axes, 0, n)
        made = (u if around.delta else self.mean) + self.deviation * made
        return around.finish(u, made)

    def _get(self, name: str) -> Any:
        return self.weights[name.replace(".", "_")]

    def _pointwise(self, x: Any, name: str, bias: bool = True) -> Any:
        return self.convolve(x, self._get(name + ".weight"), self._get(name + ".bias") if bias else None)

    def _fno(self, x: Any, shifts: Sequence[Any]) -> Any:
        x = self._pointwise(functional.gelu(self._pointwise(x, "lifting.fcs.0")), "lifting.fcs.1")
        layers = self.around.network["layers"]
        bias = self._get("fno_blocks.convs.bias")
        for layer in range(layers):
            made = self._spectral(x, self._get(f"fno_blocks.convs.weight.{layer}.tensor"))
            made = made + self._pointwise(x, f"fno_blocks.fno_skips.{layer}", False) + bias[layer]
            if shifts:
                by = torch.stack(list(shifts), -1) @ self._get("fno_blocks.shifts")[layer].T
                made = made + by.reshape(*by.shape, *[1] * self.around.axes)
            x = functional.gelu(made) if layer + 1 < layers else made
        return self._pointwise(functional.gelu(self._pointwise(x, "projection.fcs.0")), "projection.fcs.1")

    def _spectral(self, x: Any, weight: Any) -> Any:
        over = list(range(2, x.ndim))
        weight = torch.view_as_complex(weight.contiguous())
        waves = torch.fft.rfftn(x, dim=over)
        ky = weight.shape[-1]
        made = torch.zeros(len(x), weight.shape[1], *waves.shape[2:], dtype=waves.dtype, device=x.device)
        if self.around.axes == 1:
            made[..., :ky] = torch.einsum("bim,iom->bom", waves[..., :ky], weight)
        else:
            kx = weight.shape[2]
            rows = [(a - kx // 2) % x.shape[2] for a in range(kx)]
            made[:, :, rows, :ky] = torch.einsum("bimn,iomn->bomn", waves[:, :, rows, :ky], weight)
        return torch.fft.irfftn(made, s=x.shape[2:], dim=over)

    def _dilated(self, x: Any, shifts: Sequence[Any]) -> Any:
        options = self.around.network
        x = self._taps(x, "lifting", 1, shifts)
        for block in range(options["blocks"]):
            inner = x
            for i, dilation in enumerate(options["dilations"]):
                inner = functional.gelu(self._taps(inner, f"blocks.{block}.{i}", dilation, shifts))
            x = x + inner
        return self._taps(x, "projection", 1, shifts)

    def _taps(self, x: Any, name: str, dilation: int, shifts: Sequence[Any]) -> Any:
        weight, axes = self._get(name + ".weight"), self.around.axes
        reach = weight.shape[-1] // 2 * dilation
        for axis, beyond in enumerate(self.around.beyond):
            n = x.shape[axis - axes]
            at = torch.arange(-reach, n + reach, device=x.device)
            if beyond.startswith("conv-zero"):
                x = functional.pad(x, [0, 0] * (axes - 1 - axis) + [reach, reach])
                continue
            if beyond == "periodic":
                at = at % n
            elif beyond.endswith("points"):
                at = n - 1 - (n - 1 - at.abs()).abs()
            else:
                at = torch.where(at < 0, -1 - at, torch.where(at < n, at, 2 * n - 1 - at))
            x = x.index_select(axis - axes + x.ndim, at)
        made = self.convolve(x, weight, self._get(name + ".bias"), dilation=dilation)
        if shifts:
            by = torch.stack(list(shifts), -1) @ self._get(name + ".shifts").T
            made = made + by.reshape(*by.shape, *[1] * axes)
        return made


def _along(lines: Any, field: Any, axis: int) -> Any:
    """A linear map [out, in] of an axis."""
    return torch.movedim(torch.movedim(field, axis, -1) @ lines.T, -1, axis)


def _round(x: float) -> int:
    return math.floor(x + 0.5)


def _lines(n: int, more: int, wall: str, kind: str, signs: bool) -> Any:
    """An axis of n points and `more` of padding behind it, as a matrix [n + more, n]."""
    lines = torch.zeros(n + more, n, dtype=torch.float64)
    lines[:n] = torch.eye(n)
    for k in range(1, more + 1):
        weight = (1 + math.cos(math.pi * k / (more + 1))) / 2
        if kind == "zero":
            continue
        one, other = n - 1, 0
        if kind in ("odd", "even"):
            one, other = ((n - k, more - k) if wall == "centres" else (n - 1 - k, more + 1 - k))
            one, other = (min(max(at, 0), n - 1) for at in (one, other))
        sign = -1.0 if kind == "odd" and signs else 1.0
        lines[n - 1 + k, one] += sign * weight
        lines[n - 1 + k, other] += sign * (1 - weight)
    return lines.float()


def _positions(points: Sequence[int], sizes: Sequence[int], walls: Sequence[str]) -> list[Any]:
    """Sine and cosine, per axis, of an angle that goes once round its ring."""
    fields = []
    for axis, (n, size, wall) in enumerate(zip(points, sizes, walls)):
        i = torch.arange(size, dtype=torch.float64)
        if wall == "periodic":
            angle = 2 * math.pi * i / n
        elif wall == "centres":
            rest = 2 * math.pi - math.pi * (size - i - 0.5) / max(size - n, 1)
            angle = torch.where(i < n, math.pi * (i + 0.5) / n, rest)
        else:
            rest = 2 * math.pi - math.pi * (size - i) / (size - n + 1)
            angle = torch.where(i < n, math.pi * i / (n - 1), rest)
        shape = [1] * len(points)
        shape[axis] = size
        fields += [wave.float().reshape(shape).expand(*sizes) for wave in (angle.sin(), angle.cos())]
    return fields
