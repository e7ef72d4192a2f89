import { Effect } from "effect"
import { type Client } from "pg"
import { decodeLogMessage, type LogMessage } from "../../../domain/changes/LogMessage.ts"
import { type ChangeLogLost } from "../../../services/ports/ChangeLog.ts"
import { internalsOf } from "../client/Client.ts"
import { lost } from "./Session.ts"

/** Messages that are given at once, and bytes of those that wait, beyond which nothing more is received. */
const maxMessages = 5_000
const maxWaiting = 1024 * 1024
/**
 * The thresholds of batching. If this many messages came at once, or some came `oftenTimes` in a row more often than
 * every `oftenMillis`, more are received only after an interval: many small transactions in one batch take a fraction
 * of the processor time that they take one by one, and the writers get the rest.
 */
const manyMessages = 60
const [oftenTimes, oftenMillis] = [5, 10]
const intervalMillis = 25
/** The interval if no message was a change, but all show that PostgreSQL has read transactions of other tables. */
const idleMillis = 5
/** The server's messages, and answers to it. */
export class Feed {
  private readonly messages: Array<LogMessage> = []
  private waiting = 0
  /** Up to where changes were passed on, and up to where that is on PostgreSQL's disk. */
  private passed = 0n
  private confirmed = 0n
  /** The position passed on when PostgreSQL had written its log up to `at`. */
  private written = { passed: 0n, at: 0n }
  private settling = false
  private inTransaction = false
  private taken = true
  private resting = false
  /** The time of the last messages, and how many times they came too often. */
  private came = { at: 0, often: 0 }
  private woken = false
  private readonly client: ReturnType<typeof internalsOf>["connection"]
  private wake: (() => void) | undefined
  failure: ChangeLogLost | undefined

  constructor(client: Client) {
    this.client = internalsOf(client).connection
    client.on("error", (cause) => this.fail(cause))
    client.on("end", () => this.fail("The connection was closed"))
    this.client.on("copyData", ({ chunk }) => {
      if (chunk[0] === 0x77) this.received(chunk.subarray(25))
      else if (chunk[0] === 0x6b) this.asked(chunk.readBigUInt64BE(1), chunk[17] === 1)
      if (this.woken) return
      this.woken = true
      // This runs after all messages that have arrived with this one.
      setImmediate(() => {
        this.woken = false
        this.pace()
        this.wake?.()
      })
    })
  }

  fail(cause: unknown) {
    this.failure ??= lost(cause)
    this.wake?.()
  }

  private received(data: Buffer) {
    const message = decodeLogMessage(data)
    if (message === undefined) return
    if (message._tag === "Begin") this.inTransaction = true
    if (message._tag === "Commit") this.inTransaction = false
    this.messages.push(message)
    this.waiting += message.bytes
    if (this.waiting > maxWaiting) this.client.stream.pause()
  }

  /** Rests if messages come often. */
  private pace() {
    const now = performance.now()
    const { at, often } = this.came
    this.came = { at: now, often: Math.max(0, often - (now - at) / oftenMillis) + 1 }
    if (this.came.often > oftenTimes) this.rest(this.messages.length === 0 ? idleMillis : intervalMillis)
  }

  private rest(millis: number) {
    if (this.resting) return
    this.resting = true
    this.client.stream.pause()
    setTimeout(() => {
      this.resting = false
      this.receive()
    }, millis)
  }

  private receive() {
    if (!this.resting && this.waiting <= maxWaiting) this.client.stream.resume()
  }

  /** A keep-alive message. Log that was read without a change in it need not be kept. */
  private asked(end: bigint, answer: boolean) {
    const idle = this.taken && this.messages.length === 0 && !this.inTransaction
    if (idle && end > this.passed) {
      if (this.settled) this.confirmed = end
      this.passed = end
    }
    if (answer) this.report()
  }

  confirm(position: bigint) {
    if (position > this.passed) this.passed = position
  }

  /** Whether all that was passed on is on disk. */
  private get settled() {
    return this.passed === this.confirmed
  }

  /** `ask`: how far PostgreSQL has written its log, and how much of that is on disk. */
  async settle(ask: () => Promise<{ readonly written: bigint; readonly flushed: bigint }>) {
    if (this.settled || this.settling) return
    this.settling = true
    try {
      const { passed } = this
      const { flushed, written } = await ask()
      if (flushed >= this.written.at && this.written.passed > this.confirmed) this.confirmed = this.written.passed
      this.written = { passed, at: written }
    } catch (cause) {
      this.fail(cause)
    } finally {
      this.settling = false
    }
  }

  report() {
    if (this.failure !== undefined) return
    const answer = Buffer.alloc(34)
    answer[0] = 0x72
    for (const at of [1, 9, 17]) answer.writeBigUInt64BE(this.confirmed, at)
    this.client.sendCopyFromChunk(answer)
  }

  readonly take = Effect.callback<ReadonlyArray<LogMessage>, ChangeLogLost>((resume) => {
    this.taken = true
    const give = () => {
      if (this.failure !== undefined) return resume(Effect.fail(this.failure))
      if (this.messages.length === 0) return undefined
      this.wake = undefined
      this.taken = false
      const some = this.messages.splice(0, maxMessages)
      for (const { bytes } of some) this.waiting -= bytes
      if (some.length >= manyMessages) this.rest(intervalMillis)
      this.receive()
      return resume(Effect.succeed(some))
    }
    this.wake = give
    give()
    return Effect.sync(() => (this.wake = undefined))
  })
}
