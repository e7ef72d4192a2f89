import { ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  type CountRecord,
  type CountSnapshot,
  CountState,
  readRecord,
  recordBytes,
  writeRecord
} from "../../domain/access/CountLog.ts"

/** The position at which a process begins to read the log, with the counts of everything before. */
export interface CountLogPosition {
  /** How often the log has changed its file. */
  readonly generation: number
  readonly offset: number
  readonly counts: CountSnapshot
}

/** A record without the fields that the log fills in. */
type Entry = CountRecord extends infer R ? (R extends unknown ? Omit<R, "writer" | "sequence"> : never) : never

/** Descriptors of the two files, one of which is in use. */
export type LogFiles = readonly [number, number]

/**
 * Opens two empty files that have no name any more, so that they end with the last process that has them. In memory if
 * the system has such a directory.
 */
export const openLogFiles = (): LogFiles => {
  const open = (parent: string): LogFiles => {
    const directory = mkdtempSync(join(parent, "svc-counts-"))
    try {
      return [openSync(join(directory, "0"), "ax+", 0o600), openSync(join(directory, "1"), "ax+", 0o600)]
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
  try {
    return open("/dev/shm")
  } catch {
    return open(tmpdir())
  }
}

/**
 * Counts that several processes of one machine share without waiting for each other. Each appends a record to a file,
 * which the operating system does as one step (O_APPEND), then reads all records up to its own: every process sees the
 * same order and computes the same outcomes. A call costs one write and one read of a file in memory, about 4 µs.
 *
 * The log alternates between two files: after an `end` record in one, all continue in the other, which is empty.
 */
export class CountLogFile {
  private readonly files: LogFiles
  private readonly writer: number
  private readonly onGeneration: (generation: number) => void
  private readonly state: CountState
  private offset: number
  private sequence = 0
  private readonly record = Buffer.alloc(recordBytes)
  private readonly page = Buffer.alloc(256 * recordBytes)
  generation: number

  /** `writer` is this process's id. `onGeneration` is called after a change of the file. */
  constructor(
    files: LogFiles,
    writer: number,
    start: CountLogPosition | undefined,
    onGeneration: (generation: number) => void
  ) {
    this.files = files
    this.writer = writer
    this.onGeneration = onGeneration
    this.state = new CountState(start?.counts)
    this.generation = start?.generation ?? 0
    this.offset = start?.offset ?? 0
  }

  /** Appends an entry; gives its outcome. */
  append(entry: Entry): ReturnType<CountState["apply"]> {
    const sequence = ++this.sequence
    writeRecord({ ...entry, writer: this.writer, sequence } as CountRecord, this.record)
    for (;;) {
      writeSync(this.file, this.record)
      const outcome = this.read(sequence)
      // Records after the end of a file are void: again, in the other one.
      if (outcome !== undefined) return outcome
    }
  }

  /** Reads what others have appended. */
  catchUp(): void {
    this.read(undefined)
  }

  /** Whole seconds until a key is below its limit, after all records of other processes; 0 when it is. */
  blockedSeconds(...call: Parameters<CountState["blockedSeconds"]>): number {
    this.catchUp()
    return this.state.blockedSeconds(...call)
  }

  get taken(): number {
    return this.state.taken
  }

  /** The position at which a process that joins now begins. */
  position(): CountLogPosition {
    this.catchUp()
    return { generation: this.generation, offset: this.offset, counts: this.state.snapshot() }
  }

  /** Bytes of the current file that have been read. */
  get size(): number {
    return this.offset
  }

  /** Continues in the other file. Only when no process uses that one any more. */
  rotate(): void {
    ftruncateSync(this.files[(this.generation + 1) % 2] as number, 0)
    writeRecord({ kind: "end", writer: this.writer, sequence: ++this.sequence }, this.record)
    writeSync(this.file, this.record)
    this.catchUp()
  }

  private get file(): number {
    return this.files[this.generation % 2] as number
  }

  /** Applies all records; gives the outcome of this process's record with that number, if it was before the file's end. */
  private read(sequence: number | undefined): ReturnType<CountState["apply"]> | undefined {
    let own: ReturnType<CountState["apply"]> | undefined
    for (;;) {
      const bytes = readSync(this.file, this.page, 0, this.page.length, this.offset)
      const whole = bytes - (bytes % recordBytes)
      if (whole === 0) return own
      for (let at = 0; at < whole; at += recordBytes) {
        const record = readRecord(this.page, at)
        this.offset += recordBytes
        if (record.kind === "end") {
          this.generation++
          this.offset = 0
          this.onGeneration(this.generation)
          break
        }
        const outcome = this.state.apply(record)
        if (record.writer === this.writer && record.sequence === sequence) own = outcome
      }
    }
  }
}
