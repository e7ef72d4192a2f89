import { type Connection } from "pg"
import { type Done, InFlightQuery } from "./InFlightQuery.ts"

/** One statement whose rows, of one text each, are passed on as they arrive. */
export class LinesQuery extends InFlightQuery<true> {
  private readonly text: string
  private readonly params: ReadonlyArray<string | Uint8Array | null>
  private readonly onLine: (line: string) => void

  constructor(
    text: string,
    params: ReadonlyArray<string | Uint8Array | null>,
    onLine: (line: string) => void,
    done: Done<true>
  ) {
    super(done)
    this.text = text
    this.params = params
    this.onLine = onLine
  }

  submit(connection: Connection) {
    this.together(connection, () => {
      connection.parse({ name: "", text: this.text, types: [] }, true)
      connection.bind(
        { values: this.params.map((param) => (param instanceof Uint8Array ? Buffer.from(param) : param)) },
        true
      )
      connection.execute(null, true)
      this.sync(connection)
    })
  }

  override handleDataRow(message: { readonly fields: ReadonlyArray<string | null> }) {
    this.onLine(message.fields[0] ?? "")
  }

  protected result(): true {
    return true
  }
}

/** The target of the bytes for `COPY … FROM STDIN`. */
export interface CopyTarget {
  readonly sendCopyFromChunk: (bytes: Uint8Array) => void
  readonly endCopyFrom: () => void
  readonly sendCopyFail: (reason: string) => void
}

/** `COPY … FROM STDIN`, by the simple protocol, which needs no Sync. The result is the number of rows. */
export class LoadQuery extends InFlightQuery<number> {
  private readonly text: string
  private readonly onReady: (target: CopyTarget) => void
  private rows = 0

  constructor(text: string, onReady: (target: CopyTarget) => void, done: Done<number>) {
    super(done)
    this.text = text
    this.onReady = onReady
  }

  submit(connection: Connection) {
    connection.query(this.text)
  }

  override handleCopyInResponse(connection: Connection) {
    this.onReady(connection as unknown as CopyTarget)
  }

  override handleCommandComplete({ text }: { readonly text: string }) {
    this.rows = Number(/\d+$/.exec(text)?.[0] ?? 0)
  }

  protected override sync() {}

  protected result(): number {
    return this.rows
  }
}
