import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { setReachable } from '../api/connection.ts'

const firstPauseMs = 1_000
const longestPauseMs = 15_000

/** While the service cannot be reached, asks again after longer and longer pauses. What failed to load is then loaded. */
export const useReconnect = (reachable: boolean): void => {
  const client = useQueryClient()
  useEffect(() => {
    if (reachable) return
    let pause = firstPauseMs
    let timer = 0
    const ask = async () => {
      const answered = await fetch('/api/auth/session').then(
        () => true,
        () => false,
      )
      if (timer === -1) return
      if (!answered) {
        pause = Math.min(pause * 2, longestPauseMs)
        timer = window.setTimeout(ask, pause)
        return
      }
      setReachable(true)
      await client.invalidateQueries()
    }
    timer = window.setTimeout(ask, pause)
    return () => {
      window.clearTimeout(timer)
      timer = -1
    }
  }, [reachable, client])
}
