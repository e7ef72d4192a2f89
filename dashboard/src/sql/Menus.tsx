import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { ago, plural } from "../ui/format.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { Notice } from "../ui/page/Notice.tsx"
import { copy, toast, toastError } from "../ui/toast.ts"
import { curlOf } from "../wire/curl.ts"
import { save } from "../wire/save.ts"
import { csv, json, markdown, textOf } from "./result/copies.ts"
import type { Result } from "./result/rows.ts"
import type { Sent } from "./run.ts"
import { forget, type Ran, useRanStatements } from "../workspace/history.ts"

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
  const client = useQueryClient()
  const history = useRanStatements()
  const all = history.data ?? []
  const found = all.filter(({ sql }) => sql.toLowerCase().includes(words.trim().toLowerCase()))
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
      {history.isLoadingError ? (
        <Notice error={history.error} title="The history could not be read" onRetry={() => void history.refetch()} />
      ) : (
        <Menu>
          <p className="menu-head" role="status">
            {history.data === undefined
              ? "Reading…"
              : all.length === 0
                ? "You have run nothing in the last 30 days."
                : found.length === 0
                  ? "No statement has this text."
                  : `${plural(found.length, "statement")}, which only you can list`}
          </p>
          {found.map((ran) => (
            <MenuItem
              key={`${ran.at} ${ran.sql}`}
              note={`${ran.code === null ? "" : `${ran.code} · `}${ago(ran.at)}`}
              onClick={() => {
                close()
                onChoose(ran)
              }}
            >
              {ran.sql.replaceAll(/\s+/g, " ").slice(0, 60)}
            </MenuItem>
          ))}
          {all.length === 0 ? null : (
            <>
              <hr />
              <MenuItem
                icon="trash"
                danger
                onClick={() => {
                  close()
                  forget(client).then(() => toast("History cleared"), toastError)
                }}
              >
                Clear my history
              </MenuItem>
            </>
          )}
        </Menu>
      )}
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
