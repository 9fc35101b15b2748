#include "standin/stream/streams.h"

#include <gtest/gtest.h>

#include <memory>

namespace vramfit::standin {
namespace {

TEST(Streams, AnEventIsDoneAtOnceOrAtTheNextSynchronisation) {
  for (const bool late : {false, true}) {
    Streams streams(late);
    Event event;
    EXPECT_TRUE(streams.done(event, true)) << "never recorded";
    EXPECT_EQ(streams.doubtful(), 0U);
    streams.record(event, streams.of(nullptr));
    EXPECT_EQ(streams.done(event, true), !late);
    EXPECT_EQ(streams.doubtful(), 1U);
    EXPECT_EQ(streams.done(event, false), !late);
    EXPECT_EQ(streams.doubtful(), 1U) << "nothing hung on it";
    streams.synchronize();
    EXPECT_TRUE(streams.done(event, true));
    EXPECT_EQ(streams.doubtful(), 1U);
  }
}

TEST(Streams, ACaptureHasAnIdOfItsOwn) {
  Streams streams(false);
  Stream& stream = streams.of(streams.create(0, 0));
  const std::uint64_t first = streams.begin_capture(stream);
  EXPECT_EQ(stream.capture, first);
  const std::unique_ptr<Graph> graph(streams.end_capture(stream));
  EXPECT_EQ(stream.capture, 0U);
  EXPECT_NE(streams.begin_capture(stream), first);
}

TEST(Streams, AStreamThatWaitsForACaptureJoinsIt) {
  Streams streams(false);
  Stream& stream = streams.of(streams.create(0, 0));
  Stream& other = streams.of(streams.create(0, 0));
  streams.work(stream);  // not captured
  streams.begin_capture(stream);
  streams.work(stream);
  Event event;
  streams.record(event, stream);
  Streams::wait(other, event);
  EXPECT_EQ(other.capture, stream.capture);
  streams.work(other);
  const std::unique_ptr<Graph> graph(streams.end_capture(stream));
  EXPECT_EQ(graph->nodes, 3U);
  EXPECT_EQ(other.capture, 0U);
}

}  // namespace
}  // namespace vramfit::standin
