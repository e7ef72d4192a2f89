import { type Client } from "pg"
import { segmentStart } from "../../../domain/recovery/Log.ts"
import { lsnText } from "../../../domain/sql/Lsn.ts"
import { internalsOf } from "../../postgres/client/Client.ts"
import { takeLog } from "../../postgres/log/LogSocket.ts"

/** The bytes of a segment as far as they have arrived. */
interface Segment {
  readonly start: bigint
  readonly bytes: Buffer
  /** How far it is filled, and how far it is in the archive. */
  received: number
  archived: number
  /** Names of the pieces of it in the archive, which a longer one replaces. */
  readonly pieces: Array<string>
}

/** A part of the log to archive. */
export interface LogPart {
  readonly segment: Segment
  readonly start: bigint
  readonly end: bigint
  readonly content: Buffer
  /** Names of pieces that this one replaces. */
  readonly replaces: ReadonlyArray<string>
}

/** Complete segments that may wait for the archive before nothing more is received. */
const maxWaiting = 3
/**
 * Pieces of one segment before they are joined, which bounds the requests of a server that writes little; and of a complete
 * segment, which under load has a few large ones: to compress all of it again would double the work.
 */
const [maxPieces, maxPiecesOfWhole] = [60, 8]

/** What a segment had in the archive when its receiver began: its first bytes. */
export interface ReceivedHead {
  readonly bytes: Buffer
  readonly pieces: ReadonlyArray<string>
}

/**
 * Receives the log by the streaming replication protocol (PostgreSQL documentation, 54.4), from one position on. PostgreSQL
 * wakes the session that streams on each commit, which costs the writers a third of their speed; so that it streams only
 * between `start` and `stop`.
 */
export class LogReceiver {
  private readonly segments: Array<Segment> = []
  /** Memory of an archived segment, for the next one: a new allocation takes more time than archiving. */
  private readonly spare: Array<Buffer> = []
  private readonly client: Client
  private readonly connection: ReturnType<typeof internalsOf>["connection"]
  private readonly segmentSize: bigint
  private wake: (() => void) | undefined
  /** While it streams: completes at the stream's end. */
  private stream: Promise<void> | undefined
  private stopping = false
  /** Up to where the log has arrived, and is archived. */
  position: bigint
  archivedUpTo: bigint
  /** Why nothing more arrives. */
  ended: string | undefined
  private breakOff: () => void = () => undefined
  private readonly broken = new Promise<void>((resolve) => (this.breakOff = resolve))

  /** @param head the archived bytes of the segment that contains `position`, from its start */
  constructor(client: Client, position: bigint, segmentSize: bigint, head: ReceivedHead | undefined) {
    this.position = position
    this.archivedUpTo = position
    this.segmentSize = segmentSize
    this.client = client
    this.connection = internalsOf(client).connection
    if (head !== undefined) {
      const segment = this.open(segmentStart(position, segmentSize))
      head.bytes.copy(segment.bytes)
      segment.received = segment.archived = head.bytes.length
      segment.pieces.push(...head.pieces)
    }
    client.on("error", (cause) => this.end(cause instanceof Error ? cause.message : String(cause)))
    client.on("end", () => this.end("the connection was closed"))
    takeLog(this.connection.stream, (start, bytes) => this.append(start, bytes))
    this.connection.on("copyData", ({ chunk }: { readonly chunk: Buffer }) => {
      // A keep-alive message that asks for an answer.
      if (chunk[0] === 0x6b && chunk[17] === 1) this.report()
    })
    this.connection.on("copyDone", () => {
      if (!this.stopping) this.end("the server ended the timeline")
    })
  }

  /** Streams from the position on, unless it does already. */
  start(slot: string, timeline: number) {
    if (this.stream !== undefined || this.ended !== undefined) return
    const from = lsnText(Number(this.position))
    this.stopping = false
    this.stream = this.client
      .query(`START_REPLICATION SLOT ${slot} PHYSICAL ${from} TIMELINE ${timeline}`)
      .then(
        () => undefined,
        (cause: unknown) => this.end(cause instanceof Error ? cause.message : String(cause))
      )
      .finally(() => (this.stream = undefined))
  }

  /** Ends the stream; what PostgreSQL has sent meanwhile is received. */
  async stop() {
    if (this.stream === undefined || this.ended !== undefined) return
    this.report()
    this.stopping = true
    this.connection.endCopyFrom()
    this.connection.stream.resume()
    await Promise.race([this.stream, this.broken])
  }

  end(reason: string) {
    this.ended ??= reason
    this.wake?.()
    this.breakOff()
  }

  private flow() {
    const { stream } = this.connection
    if (this.segments.length > maxWaiting && !this.stopping) stream.pause()
    else stream.resume()
  }

  private open(start: bigint): Segment {
    const bytes = this.spare.pop() ?? Buffer.alloc(Number(this.segmentSize))
    const segment = { start, bytes, received: 0, archived: 0, pieces: [] }
    this.segments.push(segment)
    return segment
  }

  private append(start: bigint, data: Buffer) {
    if (start !== this.position) return this.end(`the log arrived from ${start} instead of ${this.position}`)
    let rest = data
    while (rest.length > 0) {
      const last = this.segments.at(-1)
      const segment =
        last === undefined || last.received === last.bytes.length
          ? this.open(segmentStart(this.position, this.segmentSize))
          : last
      const room = rest.subarray(0, segment.bytes.length - segment.received)
      room.copy(segment.bytes, segment.received)
      segment.received += room.length
      this.position += BigInt(room.length)
      rest = rest.subarray(room.length)
    }
    this.flow()
    if (this.segments.length > 1) this.wake?.()
  }

  /** Completes when a whole segment waits, the position is reached, or nothing more arrives; or after some ms. */
  wait(millis: number, position?: bigint): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(), millis)
      const done = () => {
        clearTimeout(timer)
        this.wake = undefined
        resolve()
      }
      const reached = () =>
        this.ended !== undefined || this.hasWhole() || (position !== undefined && this.position >= position)
      this.wake = () => reached() && done()
      if (reached()) done()
    })
  }

  private hasWhole() {
    const first = this.segments[0]
    return first !== undefined && first.received === first.bytes.length
  }

  /** The next part to archive: a whole segment; else, if `now`, what has arrived of the last one. */
  next(now: boolean): LogPart | undefined {
    const segment = this.segments[0]
    if (segment === undefined || segment.received === segment.archived) return undefined
    const whole = segment.received === segment.bytes.length
    if (!whole && !now) return undefined
    const joined = segment.pieces.length >= (whole ? maxPiecesOfWhole : maxPieces)
    const from = joined ? 0 : segment.archived
    return {
      segment,
      start: segment.start + BigInt(from),
      end: segment.start + BigInt(segment.received),
      content: segment.bytes.subarray(from, segment.received),
      replaces: joined ? [...segment.pieces] : []
    }
  }

  /** Confirms to PostgreSQL that a part is archived under this name. */
  archived({ end, replaces, segment }: LogPart, name: string) {
    segment.archived = Number(end - segment.start)
    if (replaces.length > 0) segment.pieces.splice(0)
    segment.pieces.push(name)
    if (segment.archived === segment.bytes.length) {
      this.segments.shift()
      if (this.spare.length === 0) this.spare.push(segment.bytes)
    }
    this.flow()
    this.archivedUpTo = end
    this.report()
  }

  /** A standby status update: received and flushed are what the archive has. */
  report() {
    if (this.stream === undefined || this.stopping || this.ended !== undefined) return
    const answer = Buffer.alloc(34)
    answer[0] = 0x72
    for (const at of [1, 9]) answer.writeBigUInt64BE(this.archivedUpTo, at)
    this.connection.sendCopyFromChunk(answer)
  }
}
