/**
 * Signs in to the dashboard with wrong passwords at a steady rate, each from another address so that no throttle answers
 * instead. A wrong password costs as much as a right one.
 */
const signIn = async (port: number, n: number): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/login`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `203.0.${(n >> 8) & 255}.${n & 255}`,
    },
    body: JSON.stringify({ email: `person${n}@example.com`, password: `not the password ${n}` }),
  })
  await response.arrayBuffer()
  if (response.status !== 401) throw new Error(`a sign-in was answered with ${response.status}`)
}

let people = 0

/** Returns a function that stops, waits for the answers, and throws if one was wrong. */
export const signInMeanwhile = (port: number, perSecond: number): (() => Promise<void>) => {
  const answers: Promise<unknown>[] = []
  const timer = setInterval(
    () => answers.push(signIn(port, people++).catch((error: unknown) => error)),
    1000 / perSecond,
  )
  return async () => {
    clearInterval(timer)
    const wrong = (await Promise.all(answers)).find((answer) => answer !== undefined)
    if (wrong) throw wrong
  }
}
