import { Cause, Effect, Exit } from "effect"
import { InvalidRequest } from "../../../domain/errors.ts"
import { contextBounds } from "../../../domain/flags/Evaluation.ts"
import { type Turns } from "../../../services/access/Turns.ts"
import { largeBody, loopTurn } from "../../../services/LoopTurn.ts"
import { peerAddress, type NodeRequest, type NodeResponse } from "./Port.ts"

/** Time limit for a turn to come, above that of `Turns`, in ms. */
const turnMillis = 25_000
/** Time limit for the rest of a large message once its turn has come, in ms: 1 MB at 128 KiB a second. */
const restMillis = 8_000

/** The number of values is limited because protobuf makes an object of each, which takes a microsecond. */
export const tooManyValues = new InvalidRequest({ error: `The message has more than ${contextBounds.values} values` })

/** Commas and opening brackets: one for each value, and those in texts. */
const separatorsIn = (bytes: Uint8Array) => {
  let count = 0
  for (const byte of bytes) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) count++
  return count
}

/** Waits until the client may send a large message; `leave` ends its turn. Throws TooManyRequests. */
export type EnterTurn = (client: string, response: NodeResponse) => Promise<() => void>

export const enterTurnsOf =
  ({ take }: Turns["Service"]): EnterTurn =>
  (client, response) =>
    new Promise((entered, refused) => {
      const inside = Effect.callback<void>((leave) => entered(() => leave(Effect.void)))
      const fiber = Effect.runFork(take(client, inside))
      // The client has disconnected.
      response.once("close", () => fiber.interruptUnsafe())
      fiber.addObserver((exit) => {
        if (Exit.isFailure(exit)) refused(Cause.squash(exit.cause))
      })
    })

/**
 * The message of a call. A large one waits for its turn before the rest of it is read, so that few are in memory at a
 * time, and each further part has a turn of the event loop: who parses the message does so when it has all.
 */
export class CallMessage {
  readonly #request: NodeRequest
  readonly #response: NodeResponse
  readonly #expect: (millis: number) => void
  readonly #enter: EnterTurn
  #leave: (() => void) | undefined

  constructor(request: NodeRequest, response: NodeResponse, expect: (millis: number) => void, enter: EnterTurn) {
    this.#request = request
    this.#response = response
    this.#expect = expect
    this.#enter = enter
  }

  /** Throws TooManyRequests, and InvalidRequest for JSON of too many values. */
  async *parts(): AsyncGenerator<Uint8Array, void> {
    const client = peerAddress(this.#request)
    // Keeps the connection when a request is rejected before its end, so that the response can be sent.
    const body = this.#request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Uint8Array>
    const isJson = this.#request.headers["content-type"]?.includes("json") === true
    let size = 0
    let values = 0
    for await (const part of body) {
      const wasSmall = size <= largeBody
      size += part.length
      if (isJson && (values += separatorsIn(part)) > contextBounds.values) throw tooManyValues
      if (size > largeBody) {
        if (wasSmall) await this.#enterTurn(client)
        await loopTurn(client)
      }
      yield part
    }
  }

  /** Ends the turn, if there is one: when the call is evaluated, whether or not the client reads the response. */
  done() {
    this.#leave?.()
    this.#leave = undefined
  }

  async #enterTurn(client: string) {
    this.#expect(turnMillis)
    this.#leave = await this.#enter(client, this.#response)
    this.#expect(restMillis)
  }
}
