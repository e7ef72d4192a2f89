import { Clock, Context, Effect, Exit, type Fiber, type Tracer } from "effect"

/** Whether spans are exported. Without, none is worth its cost, nor a word to others. */
export const TracingEnabled = Context.Reference<boolean>("svc/services/TracingEnabled", { defaultValue: () => false })

/** The span that a fiber is in, if its trace is exported. */
export const sampledSpan = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.Span | undefined => {
  const span = fiber.cache.span
  return span?._tag === "Span" && span.sampled && fiber.getRef(TracingEnabled) ? span : undefined
}

/** The header `traceparent` (W3C Trace Context) of what a span causes elsewhere. */
export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`

interface SpanKind {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Readonly<Record<string, unknown>>
}

/**
 * Runs an effect in a span that ends without the failure's text, which may repeat what a caller sent. `outcome`: the
 * attributes of its result.
 */
export const inSpan = <A, E, R>(
  options: SpanKind,
  body: (span: Tracer.Span) => Effect.Effect<A, E, R>,
  outcome: (exit: Exit.Exit<A, E>) => Readonly<Record<string, unknown>>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.makeSpan(options.name, { kind: options.kind, attributes: options.attributes }), (span) =>
    Effect.onExit(body(span), (exit) =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        for (const [name, value] of Object.entries(outcome(exit))) span.attribute(name, value)
        span.end(now, Exit.void)
      })
    )
  )

/** A call of another server: in a span, which its headers name, if spans are exported at all. */
export const inCall = <A, E, R>(
  options: SpanKind,
  call: (headers: Readonly<Record<string, string>>) => Effect.Effect<A, E, R>,
  statusOf: (reply: A) => number | null
): Effect.Effect<A, E, R> =>
  Effect.flatMap(TracingEnabled, (enabled) =>
    enabled
      ? inSpan(
          options,
          (span) => call({ traceparent: traceparentOf(span) }),
          (exit) => {
            const status = Exit.isSuccess(exit) ? statusOf(exit.value) : null
            return status === null ? { "error.type": "no response" } : { "http.response.status_code": status }
          }
        )
      : call({})
  )
