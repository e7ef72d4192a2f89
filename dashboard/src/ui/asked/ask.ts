interface Question {
  readonly title: string
  /** Of the button that loses what was typed. */
  readonly verb: string
  readonly answer: (yes: boolean) => void
}

let current: Question | undefined
let asking = false
const listeners = new Set<() => void>()
const become = (next: Question | undefined) => {
  current = next
  for (const listener of listeners) listener()
}

/** The question before something that was typed is lost. */
export const questions = {
  current: () => current,
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }
}

/** Whether it may be lost. While one question is open, another one is a no. */
export const ask = (title: string, verb = "Discard"): Promise<boolean> => {
  if (asking) return Promise.resolve(false)
  asking = true
  return new Promise((resolve) => {
    const answer = (yes: boolean) => {
      asking = false
      become(undefined)
      resolve(yes)
    }
    // After the press that it is about: an Escape which is still on its way would close the question as well.
    setTimeout(() => become({ title, verb, answer }))
  })
}
