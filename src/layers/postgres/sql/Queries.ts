import { type Connection } from "pg"
import { leadingKeyword } from "../../../domain/sql/Statements.ts"
import { type RawResult } from "../../../services/ports/Db.ts"
import { type Done, type Follower, type RowDescription, Submitted } from "./Submitted.ts"

/** `SELECT 5`, `INSERT 0 5`, `CREATE TABLE`: the words are the command, the last number is the count. */
const commandTag = /^([A-Z][A-Z ]*?)(?: \d+)??(?: (\d+))?$/
/** PostgreSQL's tag for statements that only read, whatever word they begin with. */
const asSelect = new Set(["WITH", "VALUES", "TABLE", "EXECUTE", ""])

/**
 * One statement by the extended protocol, of whose rows at most `rowLimit` are read: one more is asked for, to see
 * whether there are any, and the portal is left there. That is one flush.
 *
 * Only a statement with RETURNING is asked again behind its limit, for the sake of its count: it has changed all its
 * rows by then, and says how many only at the end.
 */
export class RowsQuery extends Submitted<RawResult> {
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

  /** `onDrained` is told of each row that is not kept. */
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
    // Behind a RETURNING there is one more message of its own to come first.
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

  /** Whether what follows goes out with this one. */
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
    // The tag counts from where the portal was left.
    const rowCount = this.suspended && this.count !== null ? this.count + this.rows.length : this.count
    return { command: this.command, rowCount, fields: this.fields, rows, truncated }
  }
}

/** The oids of the parameters of a statement, which is not run. */
export class ParametersQuery extends Submitted<ReadonlyArray<number>> {
  private readonly text: string
  private oids: ReadonlyArray<number> = []

  constructor(text: string, done: Done<ReadonlyArray<number>>) {
    super(done)
    this.text = text
  }

  submit(connection: Connection) {
    const learn = (message: { readonly dataTypeIDs: ReadonlyArray<number> }) => {
      this.oids = message.dataTypeIDs
    }
    connection.once("parameterDescription", learn)
    connection.once("readyForQuery", () => connection.off("parameterDescription", learn))
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
 * Discards all that a statement can leave in its session. Before PostgreSQL 17 DISCARD ALL takes the role that was
 * pinned at the start away as well, and only RESET ROLE brings it back.
 */
export class ResetQuery extends Submitted<true> {
  private readonly keepsRole: boolean
  private written = false

  constructor(serverVersion: number, done: Done<true>) {
    super(done)
    this.keepsRole = serverVersion >= 17
  }

  /** Ahead of its turn. */
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
