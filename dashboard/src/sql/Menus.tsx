import { ago } from "../ui/format.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { copy } from "../ui/toast.ts"
import { csvOf, jsonOf, markdownOf } from "./copies.ts"
import type { Result } from "./run.ts"
import { ranBefore } from "./store.ts"

export const Copies = ({ result }: { result: Result }) => (
  <Popover icon="copy" label="Copy the result" trigger="Copy" kind="quiet" align="end">
    {(close) => (
      <Menu>
        {(
          [
            ["CSV", csvOf],
            ["JSON", jsonOf],
            ["Markdown", markdownOf]
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
