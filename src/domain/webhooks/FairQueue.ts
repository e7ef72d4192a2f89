/** A message that a worker has claimed and must send. */
export interface Job {
  readonly webhook: number
  /** Length of its payload. */
  readonly size: number
}

interface Backlog<J> {
  readonly waiting: Array<J>
  inFlight: number
  /** Running average of the duration of an attempt, in ms. */
  millis: number
  /** The last claim filled all the room, so there is probably more. */
  more: boolean
}

/** A receiver that responds within this many ms may use the whole concurrency while no other needs it. */
const quickMillis = 1_000

/** Total size of the payloads held in memory, in characters; a single larger one is held alone. */
const maxSize = 16 * 1024 * 1024

/**
 * Decides which message is sent next, so that a slow or unreachable receiver does not delay the others:
 *
 * - at most `concurrency` deliveries are in flight in total, and a fifth of them for one webhook while others have messages;
 * - a webhook that is alone gets all of them if its receiver is quick, otherwise all but a fifth;
 * - every webhook may always have one in flight, even beyond the total.
 *
 * A worker holds a few more messages of each webhook than are in flight, so that the next ones are at hand.
 */
export class EndpointQueue<J extends Job> {
  private readonly backlogs = new Map<number, Backlog<J>>()
  private readonly concurrency: number
  private readonly share: number
  private sending = 0
  private waiting = 0
  private size = 0

  constructor(concurrency: number) {
    this.concurrency = concurrency
    this.share = Math.max(1, Math.floor(concurrency / 5))
  }

  /** Deliveries in flight. */
  get inFlight() {
    return this.sending
  }

  /** Adds the messages that were claimed with `room`. */
  add(jobs: ReadonlyArray<J>, room: ReturnType<EndpointQueue<J>["room"]>) {
    const counts = new Map<number, number>()
    for (const job of jobs) {
      this.backlog(job.webhook).waiting.push(job)
      this.waiting++
      this.size += job.size
      counts.set(job.webhook, (counts.get(job.webhook) ?? 0) + 1)
    }
    const cut = jobs.length >= room.total
    for (const [id, backlog] of this.backlogs) {
      const count = counts.get(id) ?? 0
      const limit = room.held.get(id) ?? room.others
      if (limit > 0) backlog.more = count >= limit || (cut && count > 0)
      if (isIdle(backlog)) this.backlogs.delete(id)
    }
  }

  /** The next message to send now, counted as in flight; undefined when none may be sent. */
  next(): J | undefined {
    if (this.waiting === 0) return undefined
    for (const [id, backlog] of this.backlogs) {
      if (backlog.waiting.length === 0 || !this.mayStart(backlog)) continue
      // Re-inserted at the end: round robin.
      this.backlogs.delete(id)
      this.backlogs.set(id, backlog)
      const job = backlog.waiting.shift() as J
      this.waiting--
      backlog.inFlight++
      this.sending++
      return job
    }
    return undefined
  }

  /** Ends an attempt, successful or not, that took this many ms. */
  done(job: J, millis: number) {
    const backlog = this.backlog(job.webhook)
    backlog.inFlight--
    backlog.millis = backlog.millis * 0.8 + millis * 0.2
    this.sending--
    this.size -= job.size
    if (isIdle(backlog)) this.backlogs.delete(job.webhook)
  }

  /** Removes the waiting messages of one webhook or of all. */
  drop(webhook?: number): ReadonlyArray<J> {
    const dropped: Array<J> = []
    for (const [id, backlog] of this.backlogs) {
      if (webhook !== undefined && webhook !== id) continue
      backlog.more = true // they must be claimed again
      for (const job of backlog.waiting.splice(0)) {
        dropped.push(job)
        this.waiting--
        this.size -= job.size
      }
    }
    return dropped
  }

  /** How many more messages to claim: of each webhook in `held`, of every other one, and in total. */
  room() {
    const { full } = this
    const held: ReadonlyMap<number, number> = new Map(
      Array.from(this.backlogs, ([id, backlog]) => [id, this.roomOf(backlog)])
    )
    return {
      held,
      others: full ? 1 : 2 * this.share,
      total: full ? this.concurrency : 3 * this.concurrency - this.sending - this.waiting,
      size: maxSize - this.size
    }
  }

  /** There is room, and there are probably messages to claim. */
  get wantsMore() {
    if (this.size > maxSize / 2) return false
    for (const backlog of this.backlogs.values()) {
      if (backlog.more && backlog.waiting.length < this.limit(backlog) / 2 && this.roomOf(backlog) > 0) return true
    }
    return false
  }

  private get full() {
    return this.sending + this.waiting >= 3 * this.concurrency
  }

  private roomOf(backlog: Backlog<J>) {
    const held = backlog.inFlight + backlog.waiting.length
    return Math.max(this.full ? 0 : 2 * this.limit(backlog) - held, held === 0 ? 1 : 0)
  }

  private backlog(id: number): Backlog<J> {
    const existing = this.backlogs.get(id)
    if (existing !== undefined) return existing
    const created: Backlog<J> = { waiting: [], inFlight: 0, millis: 0, more: false }
    this.backlogs.set(id, created)
    return created
  }

  private mayStart(backlog: Backlog<J>) {
    if (backlog.inFlight === 0) return true
    return this.sending < this.concurrency && backlog.inFlight < this.limit(backlog)
  }

  private limit(backlog: Backlog<J>) {
    for (const other of this.backlogs.values()) {
      if (other !== backlog && (other.waiting.length > 0 || other.inFlight > 0)) return this.share
    }
    return backlog.millis < quickMillis ? this.concurrency : Math.max(1, this.concurrency - this.share)
  }
}

const isIdle = (backlog: Backlog<unknown>) => backlog.inFlight === 0 && backlog.waiting.length === 0 && !backlog.more
