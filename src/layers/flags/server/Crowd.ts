import { loopTurn } from "../../../services/LoopTurn.ts"

/** Calls of one address that are started together. */
const together = 8

/**
 * HTTP/2 brings hundreds of calls in one turn of the event loop. After the first few of an address, each has a turn of its
 * own, so that other clients are served in between.
 */
export class Crowd {
  /** The calls of each address since the event loop last turned. */
  readonly #arrived = new Map<string, number>()

  async turn(address: string): Promise<void> {
    if (this.#arrived.size === 0) setImmediate(() => this.#arrived.clear())
    const arrived = (this.#arrived.get(address) ?? 0) + 1
    this.#arrived.set(address, arrived)
    if (arrived > together) await loopTurn(address)
  }
}
