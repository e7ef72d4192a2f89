import { type MouseEvent, type ReactNode, type Ref } from "react"
import { Icon } from "./Icon.tsx"
import type { IconName } from "./icons.ts"

export type ButtonKind = "plain" | "main" | "danger" | "quiet"

interface ButtonProps {
  /** The verb. Without it the button is square, and needs a label. */
  readonly children?: ReactNode
  readonly icon?: IconName
  readonly label?: string
  readonly kind?: ButtonKind
  readonly onClick?: (event: MouseEvent<HTMLButtonElement>) => void
  readonly disabled?: boolean
  readonly busy?: boolean
  /** The keys that do the same. */
  readonly keys?: string
  readonly type?: "button" | "submit"
  readonly ref?: Ref<HTMLButtonElement>
}

/** A button that is busy or disabled keeps the focus, and says so. */
export const Button = (props: ButtonProps) => {
  const { busy = false, children, disabled = false, icon, keys, kind = "plain", label, onClick, ref } = props
  const off = disabled || busy
  return (
    <button
      ref={ref ?? null}
      type={props.type ?? "button"}
      className={`button ${kind} ${children === undefined ? "square" : ""}`}
      aria-label={label}
      title={children === undefined ? label : undefined}
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      onClick={off ? (event) => event.preventDefault() : onClick}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : icon === undefined ? null : <Icon name={icon} />}
      {children === undefined ? null : <span>{children}</span>}
      {keys === undefined ? null : <kbd aria-hidden="true">{keys}</kbd>}
    </button>
  )
}
