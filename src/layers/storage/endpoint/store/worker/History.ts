import type { DatabaseSync } from "node:sqlite"
import { encodeKey, type ObjectRow, type IndexRowChange, type Segment } from "./Rows.ts"

/** The most changes that the journal keeps; older ones are dropped. */
const maximumJournal = 500_000

/** The tables of the history, as the statements of a format of the index. */
export const historyTables = `
  CREATE TABLE counters (
    sequence INTEGER NOT NULL, begun INTEGER, forgotten INTEGER NOT NULL, dropped INTEGER NOT NULL, bytes INTEGER NOT NULL,
    kept INTEGER
  );
  INSERT INTO counters VALUES (0, NULL, 0, 0, 0, NULL);
  CREATE TABLE history (
    bucket INTEGER NOT NULL, key BLOB NOT NULL, until INTEGER NOT NULL, since INTEGER NOT NULL, size INTEGER NOT NULL,
    etag TEXT NOT NULL, modified INTEGER NOT NULL, meta TEXT NOT NULL, version TEXT, segments TEXT NOT NULL,
    PRIMARY KEY (bucket, key, until)
  ) WITHOUT ROWID;
  CREATE INDEX history_by_age ON history (until);
  CREATE TABLE old_buckets (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL, removed INTEGER NOT NULL
  );
  CREATE TABLE held (number INTEGER PRIMARY KEY, blob TEXT NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL);
  CREATE TRIGGER held_added AFTER INSERT ON held BEGIN UPDATE counters SET bytes = bytes + NEW.size; END;
  CREATE TRIGGER held_removed AFTER DELETE ON held BEGIN UPDATE counters SET bytes = bytes - OLD.size; END;
  CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, bucket TEXT NOT NULL, change TEXT NOT NULL
  );
`

/**
 * The history of the index: what each key showed until when (`history`), the blobs that no object references any more
 * (`held`), and all changes in order (`journal`). A blob is held from its release on, which is never before the end of the
 * last row of the history that has it, so that its row is forgotten first. `on`: whether changes are recorded; `except`: the
 * bucket without a history.
 */
export const makeIndexHistory = (database: DatabaseSync, on: boolean, except: string | undefined, now: number) => {
  const counters = database.prepare("SELECT * FROM counters")
  const count = database.prepare("UPDATE counters SET sequence = sequence + 1 RETURNING sequence")
  const addPast = database.prepare("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
  const addHeld = database.prepare("INSERT INTO held (blob, size, at) VALUES (?, ?, ?)")
  const addChange = database.prepare("INSERT INTO journal VALUES (?, ?, ?, ?)")
  const addBucket = database.prepare(
    "INSERT INTO old_buckets SELECT id, name, created, ? FROM buckets WHERE id = ? AND created < ?"
  )
  const dropJournal = database.prepare("DELETE FROM journal WHERE sequence <= ?")
  const dropped = database.prepare("UPDATE counters SET dropped = max(dropped, ?)")
  // Sequences have gaps, because versions take numbers from the same counter: fewer changes may be kept than allowed.
  const oldest = database.prepare(
    `SELECT max(sequence) AS sequence, count(*) AS count FROM (SELECT sequence, at FROM journal ORDER BY sequence LIMIT ?)
     WHERE at <= ? OR sequence <= (SELECT max(sequence) FROM journal) - ${maximumJournal}`
  )

  const sequence = () => Number(count.get()?.["sequence"])

  const counter = (name: "begun" | "forgotten" | "dropped" | "bytes" | "sequence") =>
    Number(counters.get()?.[name] ?? 0)

  const start = () => {
    const begun = counters.get()?.["begun"] !== null
    if (begun === on) return
    // The changes in between are not in the journal, so it is whole only from here on.
    const last = sequence()
    dropped.run(last)
    dropJournal.run(last)
    database.prepare("UPDATE counters SET begun = ?").run(on ? now : null)
  }
  start()

  const newest = database.prepare(
    "SELECT max((SELECT coalesce(max(at), 0) FROM held), (SELECT coalesce(max(until), 0) FROM history), coalesce((SELECT at FROM journal ORDER BY sequence DESC LIMIT 1), 0)) AS at"
  )
  let last = Number(newest.get()?.["at"])

  return {
    on,
    /** Whether changes of a bucket are recorded. */
    keeps: (bucket: string): boolean => on && bucket !== except,
    except,
    sequence,
    counter,

    /** The time of a change, which never goes back. */
    at: (time: number): number => (last = on ? Math.max(last, time) : time),

    /** Records what a key showed before a change. */
    past: (bucket: number, old: ObjectRow, at: number) => {
      const since = old.since ?? old.modified
      // It was replaced within the same millisecond.
      if (since >= at) return
      const { etag, key, meta, modified, segments, size, version } = old
      const text = JSON.stringify(segments)
      addPast.run(bucket, encodeKey(key), at, since, size, etag, modified, meta, version ?? null, text)
    },

    /** Records a bucket before it is removed. */
    pastBucket: (bucket: number, at: number) => addBucket.run(at, bucket, at),

    /** Keeps blobs that were released. */
    hold: (segments: ReadonlyArray<Segment>, at: number) => {
      for (const [blob, size] of segments) addHeld.run(blob, size, at)
    },

    record: (bucket: string, change: IndexRowChange, at: number) => {
      const number = sequence()
      addChange.run(number, at, bucket, JSON.stringify(change))
    },

    /** Drops the journal up to a sequence. */
    dropJournal: (upTo: number) => {
      dropJournal.run(upTo)
      dropped.run(upTo)
    },

    /** Drops changes from before a time, in ms, and those beyond the limit. Returns whether it dropped as many as `limit`. */
    trim: (before: number, limit: number): boolean => {
      const found = oldest.get(limit, before)
      const last = Number(found?.["sequence"] ?? 0)
      if (last === 0) return false
      dropJournal.run(last)
      dropped.run(last)
      return found?.["count"] === limit
    }
  }
}

export type IndexHistory = ReturnType<typeof makeIndexHistory>
