import { diffLines } from "./diff.ts"
import { prettyJson } from "./json.ts"

const words = { "+": "added: ", "-": "removed: ", " ": "" } as const

/** Two JSON values, line by line. The sign is part of the text, so that colour is not the only one. */
export const Diff = ({ after, before, label }: { label: string; before: unknown; after: unknown }) => {
  const lines = diffLines(prettyJson(before), prettyJson(after))
  return lines.every(({ sign }) => sign === " ") ? (
    <p className="hint">Both are the same.</p>
  ) : (
    // It scrolls by itself, so it must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="diff" role="region" aria-label={label} tabIndex={0}>
      {lines.map(({ sign, text }, at) => (
        <span key={at} className={sign === "+" ? "added" : sign === "-" ? "removed" : ""}>
          <span className="sr">{words[sign]}</span>
          <span aria-hidden="true">{sign} </span>
          {text}
          {"\n"}
        </span>
      ))}
    </pre>
  )
}
