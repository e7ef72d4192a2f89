import { Context, Effect, Layer } from "effect"
import { TooManyRequests } from "../../domain/errors.ts"
import { FairQueue, Shares } from "../../domain/FairQueue.ts"

/** Requests in progress, of one client and of all. */
export interface TurnLimits {
  readonly ofClient: number
  readonly ofAll: number
}

/** Limits of costly requests, whose memory and time on the event loop add up. */
const costly: TurnLimits = { ofClient: 2, ofAll: 8 }
/** Further ones of one client that wait for their turn, and for how long, in ms. */
const maxWaiting = 256
const waitMillis = 20_000

const tooMany = new TooManyRequests({
  error: `More than ${maxWaiting} large requests of this client wait, or one has waited for ${waitMillis / 1000} s; send fewer at the same time`,
  code: "TOO_MANY_LARGE_REQUESTS",
  retry_after: 1
})

/** Whether a fiber has a turn, in which all parts of a request run: two that each waited for a second one would never end. */
const InTurn = Context.Reference<boolean>("svc/services/Turns/InTurn", { defaultValue: () => false })

interface Waiter {
  readonly client: string
  readonly start: () => void
}

/**
 * Costly requests take turns: few are in progress at a time, so that their memory is bounded, and the event loop serves
 * small requests between them. A client is a user, an API key at an address, or an address; see `Actor`.
 */
export class Turns extends Context.Service<
  Turns,
  {
    /** Runs a costly request in its turn. `TOO_MANY_LARGE_REQUESTS` if it takes too long to come. */
    readonly take: <A, E, R>(
      client: string,
      request: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | TooManyRequests, R>
  }
>()("svc/services/Turns") {
  static readonly layer = Layer.sync(Turns, () => makeTurns(costly))
}

/** Turns of their own for requests of another kind. */
export const makeTurns = ({ ofAll, ofClient }: TurnLimits): Turns["Service"] => {
  const waiting = new FairQueue<Waiter>()
  const shares = new Shares()
  let all = 0
  const may = (client: string) => all < ofAll && shares.of(client) < ofClient

  const enter = (client: string) => {
    all++
    shares.add(client, 1)
  }
  const leave = (client: string) =>
    Effect.sync(() => {
      all--
      shares.add(client, -1)
      // The event loop serves small requests between two turns.
      setImmediate(next)
    })
  const next = () => {
    const waiter = waiting.shift(may)
    if (waiter === undefined) return
    enter(waiter.client)
    waiter.start()
  }

  const turn = (client: string): Effect.Effect<void, TooManyRequests> =>
    Effect.suspend(() => {
      if (may(client)) {
        enter(client)
        return Effect.void
      }
      return waiting.count(client) >= maxWaiting ? Effect.fail(tooMany) : queued(client)
    })

  const queued = (client: string) => {
    let started = false
    const wait = Effect.callback<void, TooManyRequests>((resume) => {
      const waiter = {
        client,
        start: () => {
          clearTimeout(timer)
          started = true
          resume(Effect.void)
        }
      }
      const forget = () => {
        clearTimeout(timer)
        waiting.remove(client, waiter)
      }
      const timer = setTimeout(() => {
        forget()
        resume(Effect.fail(tooMany))
      }, waitMillis)
      waiting.push(client, waiter)
      return Effect.sync(forget)
    })
    return Effect.onInterrupt(Effect.interruptible(wait), () => (started ? leave(client) : Effect.void))
  }

  const take = <A, E, R>(client: string, request: Effect.Effect<A, E, R>) =>
    Effect.withFiber<A, E | TooManyRequests, R>((fiber) =>
      fiber.getRef(InTurn)
        ? request
        : Effect.acquireUseRelease(
            turn(client),
            () => Effect.provideService(request, InTurn, true),
            () => leave(client)
          )
    )

  return Turns.of({ take })
}
