import { type Connection } from "pg"
import { type Done, Submitted } from "./Submitted.ts"

/** Called for each row that is dropped, and for each statement that has gone well. */
export interface ScriptEvents {
  readonly row: () => void
  readonly statement: () => void
}

/** A text of several statements by the simple protocol. PostgreSQL says by itself when it is ready for the next one. */
export class ScriptQuery extends Submitted<true> {
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

  override handleCommandComplete() {
    this.events.statement()
  }

  protected override sync() {}

  protected result(): true {
    return true
  }
}
