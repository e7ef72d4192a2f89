/** The rows that are loaded and read: texts, numbers, times, some of them NULL. */
import { createWriteStream } from "node:fs"
import { writeFile } from "node:fs/promises"
import { pipeline } from "node:stream/promises"
import { Readable } from "node:stream"

const columns = ["id", "name", "email", "amount", "active", "note", "created_at"] as const

export const setup = [
  `create table bench_bulk (id bigint primary key, name text not null, email text not null, amount numeric(12, 2) not null,
    active boolean not null default true, note text, created_at timestamptz not null default now())`,
  "alter table bench_bulk enable row level security",
  "create table bench_read (like bench_bulk including all)",
  "grant all on bench_bulk, bench_read to bench_driver"
]

const words = "water the plants before noon, then write to everybody about the new opening hours of next week".split(
  " "
)

/** One row; every fifth note is NULL, and every seventh one needs quotes. */
const row = (id: number) => ({
  id,
  name: `${words[id % words.length]} ${words[(id * 7) % words.length]}`,
  email: `person${id}@example.com`,
  amount: ((id * 7919) % 1_000_000) / 100,
  active: id % 3 > 0,
  note: id % 5 === 0 ? null : words.slice(id % 4, 5 + (id % 9)).join(" ") + (id % 7 === 0 ? `, "as on ${id}"` : ""),
  created_at: new Date(1_700_000_000_000 + id * 60_000).toISOString()
})

const cell = (value: string | number | boolean | null) => {
  if (value === null) return ""
  const text = String(value)
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function* lines(count: number) {
  yield `${columns.join(",")}\n`
  for (let id = 1; id <= count; id++) {
    const values = row(id)
    yield `${columns.map((name) => cell(values[name])).join(",")}\n`
  }
}

export const writeCsv = (file: string, count: number) => pipeline(Readable.from(lines(count)), createWriteStream(file))

export const writeJson = async (file: string, count: number) => {
  const text = JSON.stringify(Array.from({ length: count }, (_, at) => row(at + 1)))
  await writeFile(file, text)
  return text
}

export const list = columns.join(", ")
