import { Data, Effect } from "effect"
import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { type FlagContext, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { ofrepBodyLimit } from "../../../domain/flags/Ofrep.ts"
import { type FlagdFlag, readFlag, readFlags } from "./FlagdReplies.ts"
import { makeUpstreamWith, type UpstreamAnswer, type UpstreamFailure } from "../../net/Upstream.ts"

/** Time for a call, its repetition included, in ms. */
const callMillis = 5_000
/** An answer for all flags may be as large as the whole configuration that flagd takes, and somewhat more. */
const limits = { answerBytes: 16 * 1024 * 1024, connections: 128 }

/** Why flagd gave no answer. `message` ends a sentence, for people; `cause` is for the log. */
export class FlagdTrouble extends Data.TaggedError("FlagdTrouble")<{
  readonly reason: "late" | "failed" | "behind"
  readonly message: string
  readonly cause: string
}> {}

export const late = (cause: string) =>
  new FlagdTrouble({ reason: "late", message: "flagd does not answer in time", cause })

const unreachable = (cause: string) => new FlagdTrouble({ reason: "failed", message: "flagd does not answer", cause })

const nonsense = (cause: string) =>
  new FlagdTrouble({ reason: "failed", message: "flagd answers with something else than flags of ours", cause })

/** The context is more than flagd reads. */
type TooLarge = "too large"

export interface Flagd {
  /** `host:port`, of OFREP. */
  readonly address: string
  readonly one: (
    environment: FlagEnvironment,
    key: string,
    context: FlagContext
  ) => Effect.Effect<FlagdFlag | TooLarge, FlagdTrouble>
  readonly all: (
    environment: FlagEnvironment,
    context: FlagContext
  ) => Effect.Effect<ReadonlyArray<FlagResult> | TooLarge, FlagdTrouble>
}

const troubleOf = ({ message, reason }: UpstreamFailure) =>
  reason === "timeout" || message === "UND_ERR_CONNECT_TIMEOUT"
    ? late(message)
    : reason === "unreadable"
      ? nonsense(message)
      : unreachable(message)

/** Asks by OFREP, with connections that are kept. `host` without brackets if it is an IPv6 address, or with. */
export const makeFlagd = (host: string, port: number) =>
  Effect.map(makeUpstreamWith(limits), (upstream): Flagd => {
    const address = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`

    const ask = <A>(
      environment: FlagEnvironment,
      path: string,
      context: FlagContext,
      read: (answer: UpstreamAnswer) => A | undefined
    ): Effect.Effect<A | TooLarge, FlagdTrouble> =>
      Effect.suspend(() => {
        const text = JSON.stringify({ context })
        if (text.length > ofrepBodyLimit || Buffer.byteLength(text) > ofrepBodyLimit) {
          return Effect.succeed("too large" as const)
        }
        return Effect.matchEffect(
          upstream({
            method: "POST",
            url: `http://${address}/ofrep/v1/evaluate/flags${path}`,
            headers: { "flagd-selector": `flagSetId=${environment}` },
            text,
            millis: callMillis,
            // An evaluation changes nothing: a connection that had just been closed costs no answer.
            once: false
          }),
          {
            onFailure: (failure): Effect.Effect<A | TooLarge, FlagdTrouble> => Effect.fail(troubleOf(failure)),
            onSuccess: (answer): Effect.Effect<A | TooLarge, FlagdTrouble> => {
              if (answer.status === 413) return Effect.succeed("too large" as const)
              const found = read(answer)
              return found === undefined ? Effect.fail(nonsense(`status ${answer.status}`)) : Effect.succeed(found)
            }
          }
        )
      })

    return {
      address,
      one: (environment, key, context) =>
        ask(environment, `/${encodeURIComponent(key)}`, context, ({ body, status }) =>
          readFlag(key, environment, status, body)
        ),
      all: (environment, context) =>
        ask(environment, "", context, ({ body, status }) => readFlags(environment, status, body))
    }
  })
