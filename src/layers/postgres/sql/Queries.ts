import { type Connection } from "pg"
import { leadingKeyword } from "../../../domain/sql/Statements.ts"
import { type RawResult } from "../../../services/ports/Db.ts"
import { type Done, type Follower, type RowDescription, InFlightQuery } from "./InFlightQuery.ts"

/** `SELECT 5`, `INSERT 0 5`, `CREATE TABLE`: the words are the command, the last number is the count. */
const commandTag = /^([A-Z][A-Z ]*?)(?: \d+)??(?: (\d+))?$/
/** Statements whose command tag is SELECT, by their first word. */
const asSelect = new Set(["WITH", "VALUES", "TABLE", "EXECUTE", ""])

/**
 * One statement by the extended protocol, reading at most `rowLimit` rows. It requests one row more, to detect further
 * ones, and leaves the portal there; all in one flush.
 *
 * Only a statement with RETURNING is run to its end, for its count: it has changed all its rows by then, but reports the
 * number only at the end.
 */
export class RowsQuery extends InFlightQuery<RawResult> {
  private readonly text: string
  private readonly params: ReadonlyArray<string | null>
  private readonly rowLimit: number
  private readonly returning: boolean
  private readonly onDrained: () => void
  private readonly follower: Follower | undefined
  private fields: RawResult["fields"] = []
  private readonly rows: Array<ReadonlyArray<string | null>> = []
  private suspended = false
  private command: string | undefined
  private count: number | null = null

  /** `onDrained` is called for each row beyond the limit. */
  constructor(
    text: string,
    params: ReadonlyArray<string | null>,
    rowLimit: number,
    onDrained: () => void,
    done: Done<RawResult>,
    follower?: Follower
  ) {
    super(done)
    this.text = text
    this.params = params
    this.rowLimit = rowLimit
    this.onDrained = onDrained
    this.returning = /\breturning\b/i.test(text)
    // RETURNING may require a second Execute of this query before the follower.
    this.follower = this.returning ? undefined : follower
  }

  submit(connection: Connection) {
    this.together(connection, () => {
      connection.parse({ name: "", text: this.text, types: [] }, true)
      connection.bind({ values: [...this.params] }, true)
      connection.describe({ type: "P" }, true)
      connection.execute({ rows: String(this.rowLimit + 1) }, true)
      if (this.returning) connection.flush()
      else this.sync(connection)
      this.follower?.write(connection)
    })
  }

  /** Whether the follower is sent together with this query. */
  get leads() {
    return this.follower !== undefined
  }

  protected override ended() {
    this.follower?.begin()
  }

  override handleRowDescription(message: RowDescription) {
    this.fields = message.fields.map((field) => ({
      name: field.name,
      oid: field.dataTypeID,
      typmod: field.dataTypeModifier
    }))
  }

  override handleDataRow(message: { readonly fields: ReadonlyArray<string | null> }) {
    if (this.suspended) this.onDrained()
    else this.rows.push(message.fields)
  }

  override handlePortalSuspended(connection: Connection) {
    this.suspended = true
    if (!this.returning) return
    this.together(connection, () => {
      connection.execute(null, true)
      this.sync(connection)
    })
  }

  override handleCommandComplete(message: { readonly text: string }, connection: Connection) {
    const match = commandTag.exec(message.text)
    this.command = match?.[1] ?? message.text
    this.count = match?.[2] === undefined ? null : Number(match[2])
    this.sync(connection)
  }

  protected result(): RawResult {
    const truncated = this.rows.length > this.rowLimit
    const rows = truncated ? this.rows.slice(0, this.rowLimit) : this.rows
    if (this.command === undefined) {
      const keyword = leadingKeyword(this.text)
      const command = asSelect.has(keyword) ? "SELECT" : keyword
      return { command, rowCount: rows.length, fields: this.fields, rows, truncated }
    }
    // The tag counts only the rows of the last Execute.
    const rowCount = this.suspended && this.count !== null ? this.count + this.rows.length : this.count
    return { command: this.command, rowCount, fields: this.fields, rows, truncated }
  }
}

/** The oids of a statement's parameters; does not run the statement. */
export class ParametersQuery extends InFlightQuery<ReadonlyArray<number>> {
  private readonly text: string
  private oids: ReadonlyArray<number> = []

  constructor(text: string, done: Done<ReadonlyArray<number>>) {
    super(done)
    this.text = text
  }

  submit(connection: Connection) {
    const describe = (message: { readonly dataTypeIDs: ReadonlyArray<number> }) => {
      this.oids = message.dataTypeIDs
    }
    connection.once("parameterDescription", describe)
    connection.once("readyForQuery", () => connection.off("parameterDescription", describe))
    this.together(connection, () => {
      connection.parse({ name: "", text: this.text, types: [] }, true)
      connection.describe({ type: "S" }, true)
      this.sync(connection)
    })
  }

  protected result(): ReadonlyArray<number> {
    return this.oids
  }
}

/**
 * Discards everything that a statement can leave in its session. Before PostgreSQL 17, DISCARD ALL also drops the role
 * that was set at startup, and RESET ROLE restores it.
 */
export class ResetQuery extends InFlightQuery<true> {
  private readonly keepsRole: boolean
  private written = false

  constructor(serverVersion: number, done: Done<true>) {
    super(done)
    this.keepsRole = serverVersion >= 17
  }

  /** Writes the messages early, behind the query before. */
  readonly write = (connection: Connection) => {
    this.written = true
    for (const text of this.keepsRole ? ["discard all"] : ["discard all", "reset role"]) {
      connection.parse({ name: "", text, types: [] }, true)
      connection.bind({}, true)
      connection.execute(null, true)
    }
    this.sync(connection)
  }

  submit(connection: Connection) {
    if (!this.written) this.together(connection, () => this.write(connection))
  }

  protected result(): true {
    return true
  }
}

/** Called for each discarded row, and for each completed statement. */
interface ScriptEvents {
  readonly row: () => void
  readonly statement: (tag: string) => void
}

/** Several statements in one text, by the simple protocol, which needs no Sync: PostgreSQL reports by itself when it is ready. */
export class ScriptQuery extends InFlightQuery<true> {
  private readonly text: string
  private readonly events: ScriptEvents

  constructor(text: string, events: ScriptEvents, done: Done<true>) {
    super(done)
    this.text = text
    this.events = events
  }

  submit(connection: Connection) {
    connection.query(this.text)
  }

  override handleDataRow() {
    this.events.row()
  }

  override handleCopyData() {
    this.events.row()
  }

  override handleCommandComplete(message: { readonly text: string }) {
    this.events.statement(message.text)
  }

  protected override sync() {}

  protected result(): true {
    return true
  }
}
