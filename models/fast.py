"""The same networks, faster on a CPU. Nothing here changes what is computed.

It calls private operators of torch, `torch.ops.mkldnn._linear_pointwise` and its siblings, which
another version of torch may lack or change: pyproject.toml pins torch to one version. After an
upgrade, tests/models/test_fast.py compares every layer with torch's own.

Torch's own layers are the definition: `Layers` gives what `nn.Sequential` gives, in values and
gradients, to the rounding of float32, from the same parameters. It is faster because

- oneDNN multiplies the matrices: it uses AVX-512 on all processors, torch's MKL only on Intel's;
- a layer and its activation are one call, and gradients pass an activation in place;
- the gradient of a transposed convolution is computed by the plain convolution;
- the last layer, whose one or three output channels would fill little of a vector register,
  is one matrix product and sixteen shifted sums;
- both losses of a discriminator with two classes share one backward pass.

Only the layers of the study's networks have a fast form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

NARROW = 8  # up to so many output channels, a transposed convolution is a product and shifted sums
Activation = tuple[str, list[float]]  # oneDNN's name and parameters
NO_ACTIVATION: Activation = ("none", [])
Gradients = tuple[Tensor | None, ...]  # by a layer's input, weight and bias


class Layers(nn.Sequential):
    """An `nn.Sequential` that is computed in the fast form where that is possible.

    Inside autocast it computes in the type that autocast asks for.
    """

    fast = True

    def forward(self, values: Tensor) -> Tensor:
        if not self.is_fast_for(values):
            plain: Tensor = super().forward(values)
            return plain
        autocast = torch.is_autocast_enabled("cpu")
        dtype = torch.get_autocast_dtype("cpu") if autocast else values.dtype
        stages = list(stages_of(self))
        if not torch.is_grad_enabled():  # nothing is saved, and no result held longer than needed
            values = values.to(dtype)
            for stage in stages:
                values = stage.forward(values, *(own.to(dtype) for own in stage.parameters))
            return values
        result: Tensor = _Chain.apply(stages, dtype, values, *_parameters(stages))
        return result

    def is_fast_for(self, values: Tensor) -> bool:
        return (
            self.fast
            and values.device.type == "cpu"
            and values.dtype == torch.float32
            and torch.backends.mkldnn.is_available()
        )


AnyModule = TypeVar("AnyModule", bound=nn.Module)


def with_fast(module: AnyModule, fast: bool) -> AnyModule:
    """The module, with the fast form of its layers switched on or off."""
    for part in module.modules():
        if isinstance(part, Layers):
            part.fast = fast
    return module


def log_odds(layers: Layers, values: Tensor) -> tuple[Tensor, Tensor]:
    """The log odds of the first of two classes, by row; twice.

    In the fast form the first can be differentiated by the values only, the second by the
    parameters only: up to a factor per row they have the same gradient, so that they share one
    backward pass. Without it, both can be differentiated by both.
    """
    if not layers.is_fast_for(values):
        logits = layers(values)
        odds = logits[:, 0] - logits[:, 1]
        return odds, odds
    stages = list(stages_of(layers))
    both: tuple[Tensor, Tensor] = _LogOdds.apply(stages, values, *_parameters(stages))
    return both


# layers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stage:
    """A layer and the activation after it."""

    layer: Any
    activation: Activation = NO_ACTIVATION

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return self.layer.weight, self.layer.bias

    def forward(self, values: Tensor, *parameters: Tensor) -> Tensor:
        raise NotImplementedError

    def backward(
        self, gradient: Tensor, values: Tensor, wanted: bool, *parameters: Tensor
    ) -> Gradients:
        """Gradients by values (if wanted), weight and bias; `gradient` is before the activation."""
        raise NotImplementedError

    def before_activation(self, gradient: Tensor, result: Tensor, in_place: bool) -> Tensor:
        name, scalars = self.activation
        if name == "none":
            return gradient
        target = gradient if in_place else torch.empty_like(gradient)
        if name == "relu":
            torch.ops.aten.threshold_backward.grad_input(gradient, result, 0, grad_input=target)
        else:
            torch.ops.aten.leaky_relu_backward.grad_input(
                gradient, result, *scalars, True, grad_input=target
            )
        return target


class _Reshape(_Stage):
    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return ()

    def forward(self, values: Tensor, *parameters: Tensor) -> Tensor:
        reshaped: Tensor = self.layer(values)
        return reshaped

    def backward(
        self, gradient: Tensor, values: Tensor, wanted: bool, *parameters: Tensor
    ) -> Gradients:
        return (gradient.reshape(values.shape),)


class _Linear(_Stage):
    def forward(self, values: Tensor, *parameters: Tensor) -> Tensor:
        weight, bias = parameters
        return _product(values, weight, bias, self.activation)

    def backward(
        self, gradient: Tensor, values: Tensor, wanted: bool, *parameters: Tensor
    ) -> Gradients:
        weight, _ = parameters
        before = _product(gradient, weight.t()) if wanted else None
        return before, _product(gradient.t(), values.t()), gradient.sum(0)


class _Convolution(_Stage):
    def forward(self, values: Tensor, *parameters: Tensor) -> Tensor:
        weight, bias = parameters
        return _convolution(self.layer, _channels_last(values), weight, bias, self.activation)

    def backward(
        self, gradient: Tensor, values: Tensor, wanted: bool, *parameters: Tensor
    ) -> Gradients:
        weight, _ = parameters
        gradient, values = _channels_last(gradient), _channels_last(values)
        before, kernel = _convolution_backward(self.layer, gradient, values, weight, wanted)
        return before, kernel, gradient.sum((0, 2, 3))


class _Transposed(_Stage):
    def forward(self, values: Tensor, *parameters: Tensor) -> Tensor:
        layer = self.layer
        shape = (layer.padding, layer.output_padding, layer.stride, layer.dilation, layer.groups)
        result: Tensor = torch.ops.mkldnn._convolution_transpose_pointwise(
            _channels_last(values), *parameters, *shape, *self.activation, ""
        )
        return result

    def backward(
        self, gradient: Tensor, values: Tensor, wanted: bool, *parameters: Tensor
    ) -> Gradients:
        weight, _ = parameters
        gradient, values = _channels_last(gradient), _channels_last(values)
        before = _convolution(self.layer, gradient, weight, None) if wanted else None
        _, kernel = _convolution_backward(self.layer, values, gradient, weight, wanted=False)
        return before, kernel, gradient.sum((0, 2, 3))


# With stride 2, padding 1 and a 4x4 kernel, an even output row 2i gets tap 1 of input row i and
# tap 3 of row i - 1; an odd one, 2i + 1, gets tap 2 of row i and tap 0 of row i + 1. The same holds
# for columns. Per parity: outputs and inputs that lie one apart, and the tap that joins them.
NEIGHBOURS = (
    (slice(1, None), slice(None, -1), 3),
    (slice(None, -1), slice(1, None), 0),
)


class _NarrowTransposed(_Transposed):
    """A 4x4 patch from each input pixel, then the sum of four values for each output pixel."""

    def forward(self, values: Tensor, *parameters: Tensor) -> Tensor:
        weight, bias = parameters
        (n, inputs, height, width), outputs = values.shape, weight.shape[1]
        pixels = _channels_last(values).permute(0, 2, 3, 1).reshape(-1, inputs)
        patches = _product(weight.reshape(inputs, -1).t(), pixels)
        patches = patches.view(outputs, 4, 4, n, height, width)
        result = values.new_empty(n, height, 2, width, 2, outputs)
        for y, (to_rows, from_rows, row_tap) in enumerate(NEIGHBOURS):
            for x, (to_columns, from_columns, column_tap) in enumerate(NEIGHBOURS):
                total = patches[:, 1 + y, 1 + x].add_(bias.view(-1, 1, 1, 1))
                total[:, :, to_rows] += patches[:, row_tap, 1 + x, :, from_rows]
                total[:, :, :, to_columns] += patches[:, 1 + y, column_tap, :, :, from_columns]
                diagonal = patches[:, row_tap, column_tap, :, from_rows, from_columns]
                total[:, :, to_rows, to_columns] += diagonal
                result[:, :, y, :, x] = total.permute(1, 2, 3, 0)
        return result.view(n, 2 * height, 2 * width, outputs).permute(0, 3, 1, 2)


def stages_of(layers: nn.Sequential) -> Iterator[_Stage]:
    modules: list[Any] = list(layers)
    for layer, following in zip(modules, [*modules[1:], None], strict=True):
        activation = NO_ACTIVATION
        if isinstance(following, nn.ReLU):
            activation = ("relu", [])
        elif isinstance(following, nn.LeakyReLU):
            activation = ("leaky_relu", [following.negative_slope])
        if isinstance(layer, nn.Linear):
            yield _Linear(layer, activation)
        elif isinstance(layer, nn.Conv2d):
            yield _Convolution(layer, activation)
        elif isinstance(layer, nn.ConvTranspose2d):
            shape = (layer.kernel_size, layer.stride, layer.padding, layer.out_channels <= NARROW)
            narrow = shape == ((4, 4), (2, 2), (1, 1), True) and activation == NO_ACTIVATION
            yield (_NarrowTransposed if narrow else _Transposed)(layer, activation)
        elif isinstance(layer, nn.Flatten | nn.Unflatten):
            yield _Reshape(layer)
        elif not isinstance(layer, nn.ReLU | nn.LeakyReLU):
            raise TypeError(f"{type(layer).__name__} has no fast form: give the VAE fast=False")


# chains of layers ---------------------------------------------------------------------------------


class _Chain(Function):
    """Layers as one node of autograd's graph: gradients between them may be overwritten."""

    @staticmethod
    def forward(ctx: Any, stages: list[_Stage], dtype: torch.dtype, *tensors: Tensor) -> Tensor:
        ctx.stages, ctx.types = stages, [tensor.dtype for tensor in tensors]
        return _forward(ctx, stages, [tensor.to(dtype) for tensor in tensors])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Any, ...]:
        parameters, results = _saved(ctx)
        by_parameters: list[Tensor | None] = []
        for i, stage in reversed(list(enumerate(ctx.stages))):
            assert gradient is not None
            outermost = i == len(ctx.stages) - 1
            gradient = stage.before_activation(gradient, results[i + 1], in_place=not outermost)
            wanted = i > 0 or ctx.needs_input_grad[2]
            gradient, *own = stage.backward(gradient, results[i], wanted, *parameters[i])
            by_parameters = own + by_parameters
        pairs = zip([gradient, *by_parameters], ctx.types, strict=True)
        return None, None, *(each if each is None else each.to(dtype) for each, dtype in pairs)


class _LogOdds(Function):
    """Linear layers that end in two logits; see `log_odds`."""

    @staticmethod
    def forward(ctx: Any, stages: list[_Stage], *tensors: Tensor) -> tuple[Tensor, Tensor]:
        ctx.stages, ctx.slopes = stages, None
        ctx.set_materialize_grads(False)
        logits = _forward(ctx, stages, list(tensors))
        odds = logits[:, 0] - logits[:, 1]
        return odds, odds.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_values: Tensor | None, by_parameters: Tensor | None) -> Any:
        """Each is a factor per row on the slopes, which the first call computes for both."""
        parameters, results = _saved(ctx)
        if ctx.slopes is None:
            ctx.slopes = _slopes(ctx.stages, parameters, results)
        gradients: list[Tensor | None] = [None] * (2 * len(ctx.stages))
        if by_parameters is not None:
            for i, values in enumerate(results[:-1]):
                scaled = ctx.slopes[i + 1] * by_parameters[:, None]
                gradients[2 * i] = _product(scaled.t(), values.t())
                gradients[2 * i + 1] = scaled.sum(0)
        return None, None if by_values is None else ctx.slopes[0] * by_values[:, None], *gradients


def _slopes(
    stages: list[_Stage], parameters: list[list[Tensor]], results: list[Tensor]
) -> list[Tensor]:
    """Gradient of each row's log odds by the input, and by every layer before its activation."""
    slope = torch.tensor([1.0, -1.0]).repeat(len(results[-1]), 1)
    slopes = []
    for stage, (weight, _), result in reversed(
        list(zip(stages, parameters, results[1:], strict=True))
    ):
        slope = stage.before_activation(slope, result, in_place=True)
        slopes.append(slope)
        slope = _product(slope, weight.t())
    return [slope, *reversed(slopes)]


def _parameters(stages: list[_Stage]) -> list[Tensor]:
    return [parameter for stage in stages for parameter in stage.parameters]


def _forward(ctx: Any, stages: list[_Stage], tensors: list[Tensor]) -> Tensor:
    """Through all layers; the inputs and outputs of each are saved for the backward pass."""
    values, *parameters = tensors
    results = [values]
    for stage, own in zip(stages, _by_stage(stages, parameters), strict=True):
        results.append(stage.forward(results[-1], *own))
    ctx.save_for_backward(*parameters, *results)
    return results[-1]


def _saved(ctx: Any) -> tuple[list[list[Tensor]], list[Tensor]]:
    count = len(ctx.saved_tensors) - len(ctx.stages) - 1
    return _by_stage(ctx.stages, ctx.saved_tensors[:count]), list(ctx.saved_tensors[count:])


def _by_stage(stages: list[_Stage], parameters: Sequence[Tensor]) -> list[list[Tensor]]:
    remaining = iter(parameters)
    return [[next(remaining) for _ in stage.parameters] for stage in stages]


# oneDNN's calls -----------------------------------------------------------------------------------


def _product(
    rows: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: Activation = NO_ACTIVATION,
) -> Tensor:
    """activation(rows @ weight.T + bias); both may be transposed views."""
    result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, *activation, "")
    return result


def _convolution(
    layer: Any,
    values: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: Activation = NO_ACTIVATION,
) -> Tensor:
    shape = (layer.padding, layer.stride, layer.dilation, layer.groups)
    result: Tensor = torch.ops.mkldnn._convolution_pointwise(
        values, weight, bias, *shape, *activation, ""
    )
    return result


def _convolution_backward(
    layer: Any, gradient: Tensor, values: Tensor, weight: Tensor, wanted: bool
) -> tuple[Tensor | None, Tensor]:
    shape = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
    before, kernel, _ = torch.ops.aten.convolution_backward(
        gradient, values, weight, None, *shape, (wanted, True, False)
    )
    return before, kernel


def _channels_last(values: Tensor) -> Tensor:
    """Channels last in memory and in the strides, which torch does not fix for one channel."""
    _, channels, height, width = values.shape
    strides = (channels * height * width, 1, channels * width, channels)
    return values.contiguous(memory_format=torch.channels_last).as_strided(values.shape, strides)
