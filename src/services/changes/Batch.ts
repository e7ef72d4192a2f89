import { rowJson, type LogTypes } from "../../domain/changes/LogJson.ts"
import { type LogMessage, type LogRelation, type LogTuple, positionText } from "../../domain/changes/LogMessage.ts"

/** Events of one table in one transaction; one gap replaces the others. As svc.notify_row_change (migration 0002). */
const maxEvents = 10_000
/** Characters of both rows of an event that is sent whole, and those of a column that is left out of a larger one. */
const maxRow = 4 * 1024 * 1024
const longColumn = 1024

/** The position of a change: its transaction's commit, and its number in it. */
export interface LogPosition {
  readonly lsn: bigint
  readonly done: number
}

const length = (tuple: LogTuple | undefined) =>
  (tuple ?? []).reduce((sum, text) => sum + (typeof text === "string" ? text.length : 0), 0)

/** Changes that are to be passed on in one statement (domain/changes/LogSql.ts), and where they end. */
export class ChangeBatch {
  private readonly relations = new Map<LogRelation, number>()
  private readonly numbers: Array<string> = []
  private readonly operations: Array<string> = []
  private readonly micros: Array<string> = []
  private readonly rests: Array<string> = []
  private readonly feed: Array<string> = []
  private readonly positions: Array<string> = []
  private position: LogPosition | undefined
  /** The end of the last transaction that is complete: up to here the log is not needed once the batch is stored. */
  end: bigint | undefined

  get isEmpty() {
    return this.position === undefined
  }

  add(relation: LogRelation, operation: string, micros: number, position: string, rest: string, feed: string) {
    const number = this.relations.get(relation) ?? this.relations.size
    this.relations.set(relation, number)
    this.numbers.push(String(number))
    this.operations.push(operation)
    this.micros.push(String(micros))
    this.positions.push(position)
    this.rests.push(rest)
    this.feed.push(feed)
  }

  /** Records that all changes up to a position were added. */
  reached(position: LogPosition) {
    this.position = position
  }

  /** The parameters of the statement. */
  get params(): ReadonlyArray<unknown> {
    const relations = Array.from(this.relations, ([{ name, oid, schema }, r]) => ({ r, oid, schema, name }))
    const { done, lsn } = this.position ?? { done: 0, lsn: 0n }
    return [
      JSON.stringify(relations),
      this.numbers,
      this.operations,
      this.micros,
      this.rests,
      this.feed,
      this.positions,
      positionText(lsn),
      String(done)
    ]
  }
}

/** Follows the log: which tables there are, which transaction this is, and what of it was handled before. */
export class LogReader {
  private readonly relations = new Map<number, LogRelation>()
  private readonly handled: LogPosition | undefined
  private lsn = 0n
  private lsnName = ""
  private micros = 0
  private at = ""
  private done = 0
  private readonly events = new Map<number, number>()

  /** `handled`: changes up to here were handled before. */
  constructor(handled: LogPosition | undefined) {
    this.handled = handled
  }

  /** Adds the content of a message. The types of its columns must have been read. */
  read(message: LogMessage, batch: ChangeBatch, types: LogTypes) {
    switch (message._tag) {
      case "Begin":
        this.lsn = message.lsn
        this.lsnName = positionText(message.lsn)
        this.micros = message.micros
        this.at = new Date(Math.floor(message.micros / 1000)).toISOString()
        this.done = 0
        return this.events.clear()
      case "Commit":
        batch.end = message.end
        return undefined
      case "Relation":
        this.relations.set(message.relation.oid, message.relation)
        return undefined
      case "Truncate":
        if (this.skips()) return undefined
        for (const oid of message.oids) {
          const relation = this.relations.get(oid)
          if (relation !== undefined)
            batch.add(relation, "TRUNCATE", this.micros, this.name, this.rest("null", "null"), "")
        }
        return batch.reached({ lsn: this.lsn, done: this.done })
      case "Change": {
        if (this.skips()) return undefined
        const relation = this.relations.get(message.oid)
        if (relation === undefined) return undefined
        const { old, operation, row } = message
        const count = (this.events.get(message.oid) ?? 0) + 1
        this.events.set(message.oid, count)
        const rest = (most?: number) =>
          this.rest(rowJson(row, old, relation, types, most), rowJson(old, undefined, relation, types, most), most)
        const large = count <= maxEvents && length(row) + length(old) > maxRow
        const feed = large
          ? rest(longColumn)
          : count <= maxEvents
            ? ""
            : count === maxEvents + 1
              ? `,"gap":true}`
              : "none"
        batch.add(relation, operation, this.micros, this.name, rest(), feed)
        return batch.reached({ lsn: this.lsn, done: this.done })
      }
    }
  }

  /** The JSON of a change from its rows on; `most`: columns of more characters were left out. */
  private rest(row: string, old: string, most?: number) {
    const truncated = most === undefined ? "" : `,"truncated":true`
    return `,"row":${row},"old_row":${old}${truncated},"timestamp":"${this.at}"}`
  }

  /** The change's position, by which it has the same name when the log is read again. */
  private get name() {
    return `${this.lsnName} ${this.done}`
  }

  /** Counts a change; whether it was handled before. */
  private skips() {
    this.done++
    const { handled, lsn } = this
    return handled !== undefined && (lsn < handled.lsn || (lsn === handled.lsn && this.done <= handled.done))
  }
}
