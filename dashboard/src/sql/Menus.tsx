import { useState } from "react"
import { ago, plural } from "../ui/format.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { copy } from "../ui/toast.ts"
import { curlOf } from "../wire/curl.ts"
import { save } from "../wire/save.ts"
import { csv, json, markdown, textOf } from "./result/copies.ts"
import type { Result } from "./result/rows.ts"
import type { Sent } from "./run.ts"
import { type Ran, ranBefore } from "./store.ts"

/** The result as text, and the request that it is the response of. */
export const Copies = ({ result, sent }: { result: Result; sent: Sent }) => (
  <Popover icon="copy" label="Copy the result or the request" trigger="Copy" kind="quiet" align="end">
    {(close) => {
      const item = (name: string, run: () => Promise<unknown>) => (
        <MenuItem
          key={name}
          onClick={() => {
            close()
            void run()
          }}
        >
          {name}
        </MenuItem>
      )
      return (
        <Menu>
          {(
            [
              ["CSV", csv],
              ["JSON", json],
              ["Markdown", markdown]
            ] as const
          ).map(([name, format]) => item(name, async () => copy(await textOf(format, result), name)))}
          {item("Request", () => copy(curlOf(sent.path, {}, undefined, sent.payload), "Request"))}
          <hr />
          {item("Save as CSV file", async () =>
            save(new Blob([await textOf(csv, result)], { type: "text/csv" }), "result.csv")
          )}
        </Menu>
      )
    }}
  </Popover>
)

const HistoryList = ({ close, onChoose }: HistoryProps & { readonly close: () => void }) => {
  const [words, setWords] = useState("")
  const [all] = useState(ranBefore)
  const found = all.filter(({ text }) => text.toLowerCase().includes(words.trim().toLowerCase()))
  return (
    <div className="history">
      <input
        className="field"
        type="search"
        placeholder="Find a statement"
        aria-label="Find a statement"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <Menu>
        <p className="menu-head" role="status">
          {all.length === 0
            ? "Nothing has run in this browser yet."
            : found.length === 0
              ? "No statement has this text."
              : `${plural(found.length, "statement")}, run in this browser`}
        </p>
        {found.map((ran) => (
          <MenuItem
            key={ran.at}
            note={ago(new Date(ran.at).toISOString())}
            onClick={() => {
              close()
              onChoose(ran)
            }}
          >
            {ran.text.replaceAll(/\s+/g, " ").slice(0, 60)}
          </MenuItem>
        ))}
      </Menu>
    </div>
  )
}

interface HistoryProps {
  readonly onChoose: (ran: Ran) => void
}

export const History = ({ onChoose }: HistoryProps) => (
  <Popover icon="history" label="History" kind="quiet">
    {(close) => <HistoryList close={close} onChoose={onChoose} />}
  </Popover>
)
