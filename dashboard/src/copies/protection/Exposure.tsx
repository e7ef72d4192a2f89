import type { ReactNode } from "react"
import { Button } from "../../ui/Button.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { copy } from "../../ui/toast.ts"
import type { Exposed, Severity } from "./exposure.ts"

const words: Readonly<Record<Severity, readonly [badge: string, words: string]>> = {
  bad: ["bad", "not protected"],
  warn: ["warn", "partly"],
  advice: ["", "advice"]
}

interface ExposureProps {
  readonly all: ReadonlyArray<Exposed>
  /** The buttons of what the page can do about it. */
  readonly actions: Readonly<Record<NonNullable<Exposed["action"]>, ReactNode>>
}

/** What is not protected, why, and the remedy. */
export const Exposure = ({ actions, all }: ExposureProps) => (
  <section className="part exposure" aria-label="What is not protected">
    <header>
      <h3>What is not protected</h3>
    </header>
    {all.length === 0 ? (
      <p className="exposure-none">
        <Icon name="check" /> Nothing that this page looks for: the archive, its place and key, tables, buckets, and
        backups are as they should be.
      </p>
    ) : (
      <ul>
        {all.map(({ action, code, id, remedy, severity, title, why }) => (
          <li key={id} className={severity}>
            <h4>
              {title} <span className={`badge ${words[severity][0]}`}>{words[severity][1]}</span>
            </h4>
            <p className="soft">{why}</p>
            <p>{remedy}</p>
            {code === undefined ? null : (
              <div className="exposure-code">
                <pre>{code}</pre>
                <Button icon="copy" kind="quiet" label={`Copy: ${title}`} onClick={() => void copy(code, "Text")} />
              </div>
            )}
            {action === undefined ? null : <div className="exposure-actions">{actions[action]}</div>}
          </li>
        ))}
      </ul>
    )}
  </section>
)
