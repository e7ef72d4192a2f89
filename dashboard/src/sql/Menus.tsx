import { ago } from "../ui/format.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { copy } from "../ui/toast.ts"
import { csvOf, jsonOf, markdownOf } from "./copies.ts"
import { curlOf } from "../wire/curl.ts"
import type { Result, Sent } from "./run.ts"
import { ranBefore } from "./store.ts"

/** The result as text, and the request that it is the response of. */
export const Copies = ({ result, sent }: { result: Result; sent: Sent }) => (
  <Popover icon="copy" label="Copy the result or the request" trigger="Copy" kind="quiet" align="end">
    {(close) => (
      <Menu>
        {(
          [
            ["CSV", csvOf],
            ["JSON", jsonOf],
            ["Markdown", markdownOf],
            ["Request", () => curlOf(sent.path, {}, undefined, sent.payload)]
          ] as const
        ).map(([name, textOf]) => (
          <MenuItem
            key={name}
            onClick={() => {
              close()
              void copy(textOf(result), name)
            }}
          >
            {name}
          </MenuItem>
        ))}
      </Menu>
    )}
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
