import { Clock, Effect, Layer, Option, Tracer } from "effect"
import { OtlpExporter, OtlpTracer } from "effect/observability"
import { TraceSampler } from "../../domain/TraceSampler.ts"
import { SettingError, text } from "../../domain/Settings.ts"
import { TracingEnabled } from "../../services/Tracing.ts"

/** The share of the requests that are traced, from 0 to 1. */
export const traceShare = Effect.flatMap(text("SVC_TRACE_SAMPLING", "1"), (given) => {
  const share = /^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(given) ? Number(given) : Number.NaN
  return share >= 0 && share <= 1
    ? Effect.succeed(share)
    : Effect.fail(
        new SettingError({
          message: `SVC_TRACE_SAMPLING must be a number from 0 to 1 such as 0.05, but it is "${given}"`
        })
      )
})

/** Exports the spans of the traces that the sampler chooses. A trace is chosen whole, where it enters this service. */
export const layerTracer = (share: number, options: Parameters<typeof OtlpTracer.make>[0]) =>
  Layer.effect(
    Tracer.Tracer,
    Effect.gen(function* () {
      const sampler = new TraceSampler(share)
      const clock = yield* Clock.Clock
      const exported = yield* OtlpTracer.make(options)
      const sampled = ({ parent, sampled }: Parameters<Tracer.Tracer["span"]>[0]) => {
        const from = Option.getOrUndefined(parent)
        if (from?._tag === "Span") return sampled
        return sampler.decide(from?.sampled === true, clock.currentTimeMillisUnsafe())
      }
      return Tracer.make({ ...exported, span: (given) => exported.span({ ...given, sampled: sampled(given) }) })
    })
  ).pipe(Layer.provide(OtlpExporter.layerFlusher), Layer.merge(Layer.succeed(TracingEnabled, true)))
