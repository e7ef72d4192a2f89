/** A message a worker has taken and has to send. */
export interface Job {
  readonly webhook: number
  /** Length of its payload. */
  readonly size: number
}

interface Lane<J> {
  readonly waiting: Array<J>
  flying: number
  /** Running average of how long an attempt takes, in ms. */
  millis: number
  /** The last time it was given as much as there was room for: there is probably more. */
  more: boolean
}

/** A receiver that answers within so many ms may have all lanes while nobody else needs one. */
const quickMillis = 1_000

/** Payloads held at a time, in characters; a single larger one is held alone. */
const maxHeld = 16 * 1024 * 1024

/**
 * Which message is sent next, so that a receiver that is slow or gone keeps none of the others waiting:
 *
 * - `concurrency` deliveries are under way in all, and of one webhook a fifth of them while others have something to send;
 * - alone, a webhook gets all if its receiver is quick, else all but a fifth;
 * - every webhook may have one, whatever the others do.
 *
 * A worker holds a few more of each than are under way, so that the next ones are at hand.
 */
export class WebhookLanes<J extends Job> {
  private readonly lanes = new Map<number, Lane<J>>()
  private readonly concurrency: number
  private readonly share: number
  private flying = 0
  private waiting = 0
  private size = 0

  constructor(concurrency: number) {
    this.concurrency = concurrency
    this.share = Math.max(1, Math.floor(concurrency / 5))
  }

  /** Deliveries under way. */
  get underWay() {
    return this.flying
  }

  /** Takes in what was claimed with `room`. */
  add(jobs: ReadonlyArray<J>, room: ReturnType<WebhookLanes<J>["room"]>) {
    const counts = new Map<number, number>()
    for (const job of jobs) {
      this.lane(job.webhook).waiting.push(job)
      this.waiting++
      this.size += job.size
      counts.set(job.webhook, (counts.get(job.webhook) ?? 0) + 1)
    }
    const cut = jobs.length >= room.total
    for (const [id, lane] of this.lanes) {
      const count = counts.get(id) ?? 0
      const asked = room.held.get(id) ?? room.others
      if (asked > 0) lane.more = count >= asked || (cut && count > 0)
      if (isIdle(lane)) this.lanes.delete(id)
    }
  }

  /** The next message to send now, counted as under way; undefined when there is none or no lane for it. */
  next(): J | undefined {
    if (this.waiting === 0) return undefined
    for (const [id, lane] of this.lanes) {
      if (lane.waiting.length === 0 || !this.mayStart(lane)) continue
      // Behind the others: everybody gets a turn.
      this.lanes.delete(id)
      this.lanes.set(id, lane)
      const job = lane.waiting.shift() as J
      this.waiting--
      lane.flying++
      this.flying++
      return job
    }
    return undefined
  }

  /** It was sent, or not, in so many ms. */
  done(job: J, millis: number) {
    const lane = this.lane(job.webhook)
    lane.flying--
    lane.millis = lane.millis * 0.8 + millis * 0.2
    this.flying--
    this.size -= job.size
    if (isIdle(lane)) this.lanes.delete(job.webhook)
  }

  /** Takes out what waits, of one webhook or of all. */
  drop(webhook?: number): ReadonlyArray<J> {
    const dropped: Array<J> = []
    for (const [id, lane] of this.lanes) {
      if (webhook !== undefined && webhook !== id) continue
      lane.more = true // what is there has to be asked for again
      for (const job of lane.waiting.splice(0)) {
        dropped.push(job)
        this.waiting--
        this.size -= job.size
      }
    }
    return dropped
  }

  /** How many more messages to claim: of each webhook that has some here, of every other one, and in all. */
  room() {
    const { full } = this
    const held: ReadonlyMap<number, number> = new Map(
      Array.from(this.lanes, ([id, lane]) => [id, this.sectionOf(lane)])
    )
    return {
      held,
      others: full ? 1 : 2 * this.share,
      total: full ? this.concurrency : 3 * this.concurrency - this.flying - this.waiting,
      size: maxHeld - this.size
    }
  }

  /** There is room for messages that probably are there. */
  get hungry() {
    if (this.size > maxHeld / 2) return false
    for (const lane of this.lanes.values()) {
      if (lane.more && lane.waiting.length < this.limit(lane) / 2 && this.sectionOf(lane) > 0) return true
    }
    return false
  }

  private get full() {
    return this.flying + this.waiting >= 3 * this.concurrency
  }

  private sectionOf(lane: Lane<J>) {
    const here = lane.flying + lane.waiting.length
    return Math.max(this.full ? 0 : 2 * this.limit(lane) - here, here === 0 ? 1 : 0)
  }

  private lane(id: number): Lane<J> {
    const there = this.lanes.get(id)
    if (there !== undefined) return there
    const made: Lane<J> = { waiting: [], flying: 0, millis: 0, more: false }
    this.lanes.set(id, made)
    return made
  }

  private mayStart(lane: Lane<J>) {
    if (lane.flying === 0) return true
    return this.flying < this.concurrency && lane.flying < this.limit(lane)
  }

  private limit(lane: Lane<J>) {
    for (const other of this.lanes.values()) {
      if (other !== lane && (other.waiting.length > 0 || other.flying > 0)) return this.share
    }
    return lane.millis < quickMillis ? this.concurrency : Math.max(1, this.concurrency - this.share)
  }
}

const isIdle = (lane: Lane<unknown>) => lane.flying === 0 && lane.waiting.length === 0 && !lane.more
