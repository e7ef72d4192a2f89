import { Context, Effect, Layer } from "effect"
import { FairQueue, Shares } from "../../domain/FairQueue.ts"
import { integer } from "../../domain/Settings.ts"

/** Smaller answers, in bytes, are not counted. */
export const largeAnswer = 256 * 1024

/**
 * The memory of large answers: those that arrive from PostgreSQL, and those that clients have not read yet. When it is
 * used up, further answers wait in PostgreSQL until others have been read or abandoned. One client has at most half of it.
 */
export class AnswerBudget extends Context.Service<AnswerBudget, AnswerMemory>()("svc/services/AnswerBudget") {
  static readonly layer = Layer.effect(
    AnswerBudget,
    Effect.map(integer("SVC_RESPONSE_MEMORY_MIB", 256, 32, 1024 * 1024), (size) => new AnswerMemory(size * 1024 * 1024))
  )
}

interface Waiter {
  readonly client: string
  readonly bytes: number
  readonly go: () => void
}

export class AnswerMemory {
  private used = 0
  private readonly shares = new Shares()
  private readonly waiting = new FairQueue<Waiter>()
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /** An answer may exceed the limit a little, so that one as large as the limit can arrive at all. */
  private readonly may = (client: string) => this.used < this.limit && this.shares.of(client) < this.limit / 2

  /**
   * Counts an answer of `bytes`, and returns whether its rest may be received now. If not, `go` is called later, unless
   * `forget` is called first.
   */
  receive(client: string, bytes: number, go: () => void): { readonly now: boolean; readonly forget: () => void } {
    const now = this.may(client)
    const waiter = { client, bytes, go }
    if (now) this.add(client, bytes)
    else this.waiting.push(client, waiter)
    return { now, forget: () => this.waiting.remove(client, waiter) }
  }

  /** Counts bytes that are in memory already. */
  add(client: string, bytes: number): void {
    this.used += bytes
    this.shares.add(client, bytes)
  }

  release(client: string, bytes: number): void {
    this.used -= bytes
    this.shares.add(client, -bytes)
    for (let next = this.waiting.shift(this.may); next !== undefined; next = this.waiting.shift(this.may)) {
      this.add(next.client, next.bytes)
      next.go()
    }
  }
}
