import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react"

interface DialogProps {
  readonly label: string
  readonly children: ReactNode
  readonly className?: string
  /** Undefined: the dialog cannot be dismissed. */
  readonly onClose?: () => void
}

/** The platform's modal: focus is kept in it and given back, the rest of the page is inert. */
export const Dialog = ({ children, className = "", label, onClose }: DialogProps) => {
  const ref = useRef<HTMLDialogElement>(null)
  const close = useRef(onClose)
  close.current = onClose
  useLayoutEffect(() => {
    const dialog = ref.current
    // Browsers let a page prevent that it is closed only once, then they close it: what it asks or shows would be lost.
    const closed = () => {
      dialog?.showModal()
      close.current?.()
    }
    dialog?.showModal()
    dialog?.addEventListener("close", closed)
    return () => {
      dialog?.removeEventListener("close", closed)
      dialog?.close()
    }
  }, [])
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return
      // One that lies above, or a popover in it, is closed first.
      const open = Array.from(document.querySelectorAll("dialog[open]")).at(-1)
      if (open !== ref.current || document.querySelector("[popover=auto]:popover-open") !== null) return
      event.preventDefault()
      event.stopPropagation()
      close.current?.()
    }
    document.addEventListener("keydown", keys)
    return () => document.removeEventListener("keydown", keys)
  }, [])
  return (
    // A press on the backdrop closes it as Escape does. Some devices have other ways to dismiss a dialog.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={ref}
      className={`dialog ${className}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose?.()
      }}
    >
      {children}
    </dialog>
  )
}

/** The usual content of a dialog: a title, what it is about, and the buttons, of which the last is the verb. */
export const DialogBody = ({
  buttons,
  children,
  title
}: {
  title: string
  children: ReactNode
  buttons: ReactNode
}) => (
  <div className="dialog-body">
    <h2>{title}</h2>
    {children}
    <footer>{buttons}</footer>
  </div>
)
