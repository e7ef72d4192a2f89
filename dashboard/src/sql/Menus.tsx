import { ago } from "../ui/format.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { copy } from "../ui/toast.ts"
import { curlOf } from "../wire/curl.ts"
import { save } from "../wire/save.ts"
import { csv, json, markdown, textOf } from "./result/copies.ts"
import type { Result } from "./result/rows.ts"
import type { Sent } from "./run.ts"
import { ranBefore } from "./store.ts"

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

export const History = ({ onChoose }: { onChoose: (text: string) => void }) => (
  <Popover icon="history" label="History" kind="quiet">
    {(close) => {
      const all = ranBefore().slice(0, 30)
      return (
        <Menu>
          <p className="menu-head">Run in this browser</p>
          {all.length === 0 ? <p className="menu-head">Nothing yet.</p> : null}
          {all.map(({ at, text }) => (
            <MenuItem
              key={at}
              note={ago(new Date(at).toISOString())}
              onClick={() => {
                close()
                onChoose(text)
              }}
            >
              {text.replaceAll(/\s+/g, " ").slice(0, 60)}
            </MenuItem>
          ))}
        </Menu>
      )
    }}
  </Popover>
)
