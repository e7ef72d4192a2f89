import { Cause, type Effect, Exit, Option } from "effect"
import { PerSecond } from "../../../domain/TraceSampler.ts"
import { type Actor, type Statement } from "../../../services/ports/Db.ts"
import { inSpan, traceparentOf } from "../../../services/Tracing.ts"

/** Statements in a second that name their span to PostgreSQL; others stay prepared, so that tracing everything is affordable. */
const commented = new PerSecond(50)

/** Characters of a statement in a span. It has no values: those are parameters. */
const maxText = 2_000

const outcomeOf = (exit: Exit.Exit<unknown, unknown>) => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  const code = (error as { readonly code?: unknown } | undefined)?.code
  return typeof code === "string" ? { "db.response.status_code": code, "error.type": code } : {}
}

/**
 * Runs a statement in a span of its own. PostgreSQL receives the span as a comment after the statement (sqlcommenter), in
 * pg_stat_activity, its log and auto_explain. The text is a new one for each request, so it is not kept prepared: only
 * statements of traces that are exported pay for that, and few of them in a second.
 */
export const inStatementSpan = <A, E>(
  { role }: Actor,
  { text }: Statement,
  run: (comment: string) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  inSpan(
    {
      name: "db.statement",
      kind: "client",
      attributes: { "db.system.name": "postgresql", "db.query.text": text.slice(0, maxText), "svc.role": role }
    },
    (span) => run(commented.take(performance.now()) ? ` /*traceparent='${traceparentOf(span)}'*/` : ""),
    outcomeOf
  )
