{-# LANGUAGE OverloadedStrings #-}

-- | Answers PONG to every request, whatever it says: an upper bound for servers in Haskell.
module Main (main) where

import Control.Concurrent (forkFinally)
import Control.Monad (forever, unless)
import Data.ByteString (ByteString)
import qualified Data.ByteString as B
import Network.Socket
import Network.Socket.ByteString (recv, sendAll)
import System.Environment (getArgs)
import System.Exit (die)

main :: IO ()
main = do
  args <- getArgs
  case args of
    [host, port] -> serve =<< listenOn host port
    _ -> die "usage: server HOST PORT"

listenOn :: HostName -> ServiceName -> IO Socket
listenOn host port = do
  let numeric = defaultHints {addrFlags = [AI_NUMERICHOST], addrSocketType = Stream}
  address <- head <$> getAddrInfo (Just numeric) (Just host) (Just port)
  listener <- openSocket address
  setSocketOption listener ReuseAddr 1
  setSocketOption listener NoDelay 1 -- accepted sockets inherit it
  bind listener $ addrAddress address
  listen listener 4096
  return listener

serve :: Socket -> IO ()
serve listener = forever $ do
  (connection, _) <- accept listener
  forkFinally (answer connection B.empty) $ const $ close connection

-- | Answers each head that ends; the beginning of the next one waits for the rest of it.
answer :: Socket -> ByteString -> IO ()
answer connection beginning = do
  bytes <- recv connection 4096
  unless (B.null bytes) $ do
    let (heads, rest) = split 0 $ beginning <> bytes
    unless (heads == 0) $ sendAll connection $ B.concat $ replicate heads pong
    answer connection rest

-- | How many heads end here, and what follows the last of them.
split :: Int -> ByteString -> (Int, ByteString)
split heads bytes = case B.breakSubstring end bytes of
  (_, found) | B.null found -> (heads, bytes)
             | otherwise -> split (heads + 1) $ B.drop (B.length end) found
  where end = "\r\n\r\n"

-- | 68 bytes.
pong :: ByteString
pong = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nPONG"
