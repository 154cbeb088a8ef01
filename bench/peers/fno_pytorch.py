#!/usr/bin/env python3
"""The same training step in PyTorch, for `make bench` where `import torch` works.

Usage: fno_pytorch.py BENCH_DIR

For each of the five paper-size networks this asks BENCH_DIR/fno_bench --peer for a network's weights, a
batch and our outputs, loss and gradients, rebuilds the network from standard PyTorch operations,
compares (and stops on a difference), then times a training step without the optimiser, in turns with
ours. One JSON object a line, with the factor PyTorch / stap.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F


def read_tensors(path):
    with open(path, "rb") as f:
        data = f.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        raw = bytearray(data[8 + length + begin : 8 + length + end])
        tensors[name] = torch.frombuffer(raw, dtype=torch.float32).clone().reshape(info["shape"])
    return tensors, metadata


class Gelu(torch.autograd.Function):
    """F.gelu whose gradient gets what it can cope with, for builds where it is wrong otherwise."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return torch.ops.aten.gelu_backward(gradient.contiguous(), x.contiguous())


def gelu_gradient_is_right():
    # As in the network, behind a matrix product: with some layouts of the incoming gradient Debian's
    # PyTorch 1.13 gets it wrong.
    x = torch.randn(32, 256, 256, requires_grad=True)
    w, g = torch.randn(64, 256), torch.randn(32, 64, 256)
    (torch.matmul(w, F.gelu(x)) * g).sum().backward()
    y = x.detach().requires_grad_()
    (torch.matmul(w, 0.5 * y * (1.0 + torch.erf(y * 0.7071067811865476))) * g).sum().backward()
    return float((x.grad - y.grad).norm() / y.grad.norm()) < 1e-5


gelu = F.gelu if gelu_gradient_is_right() else Gelu.apply


# A matrix product: faster here than the convolution with a kernel of size one that it replaces.
def pointwise(x, weight, bias=None):
    y = torch.matmul(weight.flatten(1), x.flatten(2))
    if bias is not None:
        y = y + bias[:, None]
    return y.view(x.shape[0], -1, *x.shape[2:])


def spectral(x, weight, modes):
    w = torch.view_as_complex(weight)
    if x.dim() == 3:
        n, k = x.shape[-1], modes[0] // 2 + 1
        kept = torch.fft.rfft(x)[..., :k]
        out = torch.einsum("bim,iom->bom", kept, w)
        return torch.fft.irfft(out, n=n)  # missing modes are zero
    nx, ny = x.shape[-2:]
    kx, ky = modes[0], modes[1] // 2 + 1
    spectrum = torch.fft.rfft(x)[..., :ky]
    spectrum = torch.fft.fftshift(torch.fft.fft(spectrum, dim=-2), dim=-2)
    first = nx // 2 - kx // 2
    out = torch.einsum("bixy,ioxy->boxy", spectrum[..., first : first + kx, :], w)
    full = torch.zeros(*out.shape[:2], nx, ky, dtype=out.dtype)
    full[..., first : first + kx, :] = out
    columns = torch.fft.ifft(torch.fft.ifftshift(full, dim=-2), dim=-2)
    return torch.fft.irfft(columns, n=ny)


def forward(p, x, modes, layers):
    x = pointwise(gelu(pointwise(x, p["lifting.fcs.0.weight"], p["lifting.fcs.0.bias"])),
                  p["lifting.fcs.1.weight"], p["lifting.fcs.1.bias"])
    for layer in range(layers):
        y = spectral(x, p[f"fno_blocks.convs.weight.{layer}.tensor"], modes)
        y = y + p["fno_blocks.convs.bias"][layer]
        y = y + pointwise(x, p[f"fno_blocks.fno_skips.{layer}.weight"])
        x = gelu(y) if layer + 1 < layers else y
    return pointwise(gelu(pointwise(x, p["projection.fcs.0.weight"], p["projection.fcs.0.bias"])),
                     p["projection.fcs.1.weight"], p["projection.fcs.1.bias"])


def relative(a, b):
    return float((a - b).norm() / b.norm())


def main():
    program = os.path.join(sys.argv[1], "fno_bench")
    for name in ["burgers", "kdv", "ks", "ins", "cns"]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.safetensors")
            peer = subprocess.Popen([program, "--peer", name, path], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
            ready = json.loads(peer.stdout.readline())
            tensors, _ = read_tensors(path)
        torch.set_num_threads(ready["threads"])
        modes, layers = ready["modes"], ready["layers"]
        weights = {k[8:]: v.requires_grad_() for k, v in tensors.items() if k.startswith("weights/")}
        x, y = tensors["x"], tensors["y"]

        def step():
            for w in weights.values():
                w.grad = None
            out = forward(weights, x, modes, layers)
            loss = F.mse_loss(out, y)
            loss.backward()
            return out, loss

        out, loss = step()
        errors = {"out": relative(out.detach(), tensors["out"])}
        for key, w in weights.items():
            errors[key] = relative(w.grad, tensors["gradient/" + key])
        worst = max(errors, key=errors.get)
        if errors["out"] > 1e-4 or errors[worst] > 1e-3:
            sys.exit(f"fno_pytorch: {name}: outputs or gradients differ: {worst} by {errors[worst]:.2e}")

        ours, theirs = [], []
        step()
        for _ in range(7):
            # Both programs' idle threads spin for a while before they sleep: let them.
            time.sleep(0.1)
            print("step", file=peer.stdin, flush=True)
            ours.append(float(peer.stdout.readline()))
            time.sleep(0.1)
            start = time.perf_counter()
            step()
            theirs.append(1e3 * (time.perf_counter() - start))
        peer.stdin.close()
        peer.wait()
        factor = statistics.median(t / o for t, o in zip(theirs, ours))
        print(json.dumps({"bench": "fno_peer", "name": name, "peer": "PyTorch " + torch.__version__,
                          "threads": ready["threads"], "ms_per_train_step": round(statistics.median(ours), 3),
                          "peer_ms_per_train_step": round(statistics.median(theirs), 3),
                          "factor": round(factor, 2), "output_difference": float(f"{errors['out']:.1e}")}),
              flush=True)


if __name__ == "__main__":
    main()
